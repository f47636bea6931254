import { useQuery } from '@tanstack/react-query'
import type { AuditChange, AuditEntry } from '../../../shared/contract/index.ts'
import type { ErrorCode } from '../../../shared/errors.ts'
import { useApi } from '../../api/api.tsx'
import { CopyText } from '../../ui/copy-button.tsx'
import { PaneHead, CodeBlock, DetailPane, FieldRow, PaneTitle } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { ResultText } from './audit-columns.tsx'
import classes from './audit.module.css'
import { originWords, prettyJson, targetWords } from './audit-words.ts'
import { texts } from '../../../shared/texts/ui/audit.ts'
import { texts as titles } from '../../../shared/texts/ui/error-titles.ts'

export function AuditDetail(props: { seq: number; known: AuditEntry | undefined; onClose: () => void }) {
  const { seq, known, onClose } = props
  const { query } = useApi()
  const found = useQuery(
    query.audit.list.queryOptions({ input: { before: seq + 1, limit: 1 }, enabled: known === undefined })
  )
  const entry = known ?? found.data?.entries.find((one) => one.seq === seq)
  return (
    <DetailPane isWide label={texts.auditEntry}>
      <PaneHead what={texts.entry} onClose={onClose}>
        {entry !== undefined && <ResultText entry={entry} />}
      </PaneHead>
      {entry === undefined ? (
        <QueryState query={found} what={texts.theEntry} rows={8}>
          {() => <EmptyState title={texts.entryNotFound}>{texts.entryNotFoundHint}</EmptyState>}
        </QueryState>
      ) : (
        <Detail entry={entry} />
      )}
    </DetailPane>
  )
}

function Detail({ entry }: { entry: AuditEntry }) {
  const { seq, atMs, who, operation, requestId, changes, input, code, count, isCut, hash } = entry
  const targets = targetWords(entry)
  return (
    <>
      <PaneTitle title={<span className="mono">{operation}</span>}>
        {targets !== '' && <p className="dim">{targets}</p>}
        {code !== null && (
          <p className={entry.result === 'refused' ? 'tone-bad' : 'tone-wait'}>
            {titles[`title.${code as ErrorCode}`] ?? texts.itFailed} <span className="mono faint">{code}</span>
          </p>
        )}
      </PaneTitle>
      <div>
        <FieldRow label={texts.when}>{formatInstant(atMs)}</FieldRow>
        {count > 1 && <FieldRow label={texts.howOften}>{texts.countAndLast(count)}</FieldRow>}
        <FieldRow label={texts.who}>
          {who.name} <span className="dim">· {who.role ?? texts.unknownRole}</span>
        </FieldRow>
        {who.tokenName !== null && <FieldRow label={texts.token}>{who.tokenName}</FieldRow>}
        {who.session !== null && (
          <FieldRow label={texts.session}>
            <span className="mono">{who.session}</span>
          </FieldRow>
        )}
        <FieldRow label={texts.from}>{originWords(entry)}</FieldRow>
        <FieldRow label={texts.requestId}>
          <span className="mono">{requestId}</span>
        </FieldRow>
      </div>
      {changes.map((change, at) => (
        <ChangeTable key={at} change={change} />
      ))}
      {input !== 'null' && (
        <section>
          <h3>{texts.request}</h3>
          <CodeBlock label={texts.request}>{prettyJson(input)}</CodeBlock>
        </section>
      )}
      {isCut && <p className="faint">{texts.entryIsCut}</p>}
      <section>
        <h3>{texts.hashOfEntry(seq)}</h3>
        <span className="tiny break">
          <CopyText value={hash} what={texts.theHash} />
        </span>
      </section>
    </>
  )
}

function ChangeTable({ change: { noun, name, fields } }: { change: AuditChange }) {
  const isNew = fields.every(({ before }) => before === null)
  const isGone = fields.every(({ after }) => after === null)
  return (
    <section>
      <h3>
        {noun === name ? noun : `${noun} ${name}`}{' '}
        {isNew ? (
          <span className="tone-ok">{texts.added}</span>
        ) : isGone ? (
          <span className="tone-bad">{texts.removed}</span>
        ) : null}
      </h3>
      <table className={classes.changes}>
        <thead>
          <tr>
            <th scope="col">{texts.field}</th>
            {!isNew && <th scope="col">{texts.before}</th>}
            {!isGone && <th scope="col">{texts.after}</th>}
          </tr>
        </thead>
        <tbody>
          {fields.map(({ field, before, after }) => (
            <tr key={field}>
              <th scope="row">{field}</th>
              {!isNew && <Value text={before} isOld />}
              {!isGone && <Value text={after} isOld={false} />}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Value({ text, isOld }: { text: string | null; isOld: boolean }) {
  return (
    <td className="mono" data-old={isOld || undefined}>
      {text ?? <span className="faint">{texts.none}</span>}
    </td>
  )
}
