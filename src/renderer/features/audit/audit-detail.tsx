import { useQuery } from '@tanstack/react-query'
import type { AuditChange, AuditEntry } from '../../../shared/contract/index.ts'
import { ERROR_CODES, type ErrorCode } from '../../../shared/errors.ts'
import { useApi } from '../../api/api.tsx'
import { CopyText } from '../../ui/copy-button.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead, CodeBlock, DetailPane, FieldRow, PaneTitle } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { ResultText } from './audit-columns.tsx'
import classes from './audit.module.css'
import { originWords, prettyJson, targetWords } from './audit-words.ts'

/** One entry, to the right of the table. `known`: it is in the table. */
export function AuditDetail(props: { seq: number; known: AuditEntry | undefined; onClose: () => void }) {
  const { seq, known, onClose } = props
  const { query } = useApi()
  const found = useQuery(
    query.audit.list.queryOptions({ input: { before: seq + 1, limit: 1 }, enabled: known === undefined })
  )
  const entry = known ?? found.data?.entries.find((one) => one.seq === seq)
  return (
    <DetailPane isWide label="Audit entry">
      <PaneHead what="entry" onClose={onClose}>
        {entry !== undefined && <ResultText entry={entry} />}
      </PaneHead>
      {entry === undefined ? (
        <QueryState query={found} what="the entry" rows={8}>
          {() => (
            <EmptyState title="Entry not found">It was deleted because of its age, or was never written.</EmptyState>
          )}
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
            {ERROR_CODES[code as ErrorCode]?.title ?? 'It failed'} <span className="mono faint">{code}</span>
          </p>
        )}
      </PaneTitle>
      <div>
        <FieldRow label="When">{formatInstant(atMs)}</FieldRow>
        {count > 1 && <FieldRow label="How often">{formatCount(count)} times, the last one at that time</FieldRow>}
        <FieldRow label="Who">
          {who.name} <span className="dim">· {who.role ?? 'not known here'}</span>
        </FieldRow>
        {who.tokenName !== null && <FieldRow label="Token">{who.tokenName}</FieldRow>}
        {who.session !== null && (
          <FieldRow label="Session">
            <span className="mono">{who.session}</span>
          </FieldRow>
        )}
        <FieldRow label="From">{originWords(entry)}</FieldRow>
        <FieldRow label="Request ID">
          <span className="mono">{requestId}</span>
        </FieldRow>
      </div>
      {changes.map((change, at) => (
        <ChangeTable key={at} change={change} />
      ))}
      {input !== 'null' && (
        <section>
          <h3>Request</h3>
          <CodeBlock label="Request">{prettyJson(input)}</CodeBlock>
        </section>
      )}
      {isCut && <p className="faint">This entry is cut: it was too long to be kept as a whole.</p>}
      <section>
        <h3>Hash of entry {formatCount(seq)}</h3>
        <span className={`${classes.hash} break`}>
          <CopyText value={hash} what="the hash" />
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
        {isNew ? <span className="tone-ok">added</span> : isGone ? <span className="tone-bad">removed</span> : null}
      </h3>
      <table className={classes.changes}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {!isNew && <th scope="col">Before</th>}
            {!isGone && <th scope="col">After</th>}
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
      {text ?? <span className="faint">none</span>}
    </td>
  )
}
