import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ErrorGroup, ErrorGroupDetail, ErrorGroupId, ErrorOccurrence } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { ErrorsSearch } from '../../state/search.ts'
import { Sparkline } from '../../ui/charts/sparkline.tsx'
import { ErrorStateText, logSearchOf } from '../../ui/errors/error-group.tsx'
import { useMay } from '../../api/use-me.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead, DetailPane, FieldRow, PaneTitle, CodeBlock } from '../../ui/panel.tsx'
import { QueryState, RowsSkeleton } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './error-detail.module.css'
import type { SetErrorState } from './use-error-actions.ts'
import { formatOf, parseRecordHead } from '../../../shared/log-record.ts'
import { plainText } from '../../terminal/sanitise.ts'
import { texts } from '../../../shared/texts/ui/errors.ts'

interface ErrorDetailProps {
  id: ErrorGroupId
  nodeName: (id: string) => string
  onState: SetErrorState
  onFilter: (filter: ErrorsSearch) => void
  onClose: () => void
}

const BECAUSE: Record<ErrorGroup['because'], string> = {
  frames: texts.groupedByFrames,
  exception: texts.groupedByException,
  message: texts.groupedByMessage
}

export function ErrorDetail({ id, nodeName, onState, onFilter, onClose }: ErrorDetailProps) {
  const { query } = useApi()
  const detail = useQuery(query.errors.get.queryOptions({ input: { id } }))
  return (
    <DetailPane isWide label={texts.error}>
      <PaneHead what={texts.errorNoun} onClose={onClose}>
        {detail.data !== undefined && <ErrorStateText group={detail.data.group} />}
      </PaneHead>
      <QueryState query={detail} what={texts.theError} rows={10}>
        {(data) => <Detail detail={data} nodeName={nodeName} onState={onState} onFilter={onFilter} />}
      </QueryState>
    </DetailPane>
  )
}

function Detail({
  detail,
  nodeName,
  onState,
  onFilter
}: { detail: ErrorGroupDetail } & Pick<ErrorDetailProps, 'nodeName' | 'onState' | 'onFilter'>) {
  const { group, occurrences, spiders, versions, nodes } = detail
  const { may } = useMay('results.review', group)
  const newest = occurrences[0]
  return (
    <>
      <PaneTitle title={group.title}>
        <p className="mono dim">{group.culprit}</p>
      </PaneTitle>
      <Group gap={8}>
        {!may ? null : group.state === 'open' ? (
          <>
            <Button variant="filled" title={texts.resolveHint} onClick={() => void onState(group, 'resolved')}>
              {texts.resolve}
            </Button>
            <Button title={texts.ignoreHint} onClick={() => void onState(group, 'ignored')}>
              {texts.ignore}
            </Button>
          </>
        ) : (
          <Button onClick={() => void onState(group, 'open')}>{texts.reopen}</Button>
        )}
        {newest !== undefined && (
          <LinkButton to="/logs" search={logSearchOf(newest)}>
            {texts.openLogAtLine(newest.line)}
          </LinkButton>
        )}
      </Group>
      <div>
        <FieldRow label={texts.logged}>{texts.timesByJobs(group.count, group.jobCount)}</FieldRow>
        <FieldRow label={texts.firstSeen}>
          {texts.firstSeenIn(
            <RelativeTime atMs={group.firstSeenMs} ago />,
            <FilterLink onClick={() => onFilter({ since: group.firstVersion, project: group.project })}>
              {group.firstVersion || texts.unknown}
            </FilterLink>
          )}
        </FieldRow>
        <FieldRow label={texts.lastSeen}>
          <RelativeTime atMs={group.lastSeenMs} ago />
        </FieldRow>
        {group.reopenedAtMs !== null && (
          <FieldRow label={texts.reopened}>{texts.reopenedAt(<RelativeTime atMs={group.reopenedAtMs} ago />)}</FieldRow>
        )}
        <FieldRow label={texts.project}>
          <Link to="/projects" search={{ project: group.project }} className={`${classes.link} text-link`}>
            {group.project}
          </Link>
        </FieldRow>
        <FieldRow label={texts.groupedBy}>{BECAUSE[group.because]}</FieldRow>
        <FieldRow label={texts.last7Days}>
          <Sparkline values={group.series.counts} tone="bad" width={200} height={32} />
        </FieldRow>
      </div>
      {newest !== undefined && (
        <section>
          <h3>{texts.newestExample}</h3>
          <ErrorExample key={`${newest.jobId} ${newest.attemptNumber}`} occurrence={newest} />
        </section>
      )}
      <Spread
        title={texts.spiders}
        rows={spiders}
        total={group.spiderCount}
        onPick={(spider) => onFilter({ spider, project: group.project })}
      />
      <Spread
        title={texts.versions}
        rows={versions}
        total={group.versionCount}
        onPick={(version) => onFilter({ version, project: group.project })}
      />
      <Spread
        title={texts.nodes}
        rows={nodes}
        total={group.nodeCount}
        name={nodeName}
        onPick={(node) => onFilter({ node: node as never })}
      />
      <Occurrences occurrences={occurrences} jobCount={group.jobCount} nodeName={nodeName} />
    </>
  )
}

const SHOWN = 5

interface SpreadProps {
  title: string
  rows: ErrorGroupDetail['spiders']
  total: number
  name?: (value: string) => string
  onPick: (value: string) => void
}

function Spread({ title, rows, total, name = (value) => value, onPick }: SpreadProps) {
  const most = rows[0]?.count ?? 1
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="faint">{formatCount(total)}</span>
      </h3>
      <ul className={classes.spread}>
        {rows.slice(0, SHOWN).map(({ value, count, runCount, lastSeenMs }) => (
          <li key={value}>
            <FilterLink onClick={() => onPick(value)}>{name(value) || texts.unknown}</FilterLink>
            <span className={classes.bar} aria-hidden>
              <i style={{ width: `${Math.max(2, (count / most) * 100)}%` }} />
            </span>
            <span title={texts.runCount(runCount)}>{formatCount(count)}</span>
            <span className="dim">
              <RelativeTime atMs={lastSeenMs} />
            </span>
          </li>
        ))}
      </ul>
      {total > SHOWN && <p className="faint">{texts.andMore(total - Math.min(SHOWN, rows.length))}</p>}
    </section>
  )
}

function FilterLink({ children, onClick }: { children: string; onClick: () => void }) {
  return (
    <button type="button" className={`${classes.link} text-link`} title={texts.showOnlyTheseErrors} onClick={onClick}>
      <span className="ellipsis">{children}</span>
    </button>
  )
}

function Occurrences({
  occurrences,
  jobCount,
  nodeName
}: {
  occurrences: readonly ErrorOccurrence[]
  jobCount: number
  nodeName: (id: string) => string
}) {
  return (
    <section>
      <h3>
        {texts.jobs} <span className="faint">{formatCount(jobCount)}</span>
      </h3>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{texts.spider}</th>
            <th scope="col">{texts.node}</th>
            <th scope="col">{texts.count}</th>
            <th scope="col">{texts.seen}</th>
            <th scope="col">{texts.log}</th>
          </tr>
        </thead>
        <tbody>
          {occurrences.map((one) => (
            <tr key={`${one.jobId} ${one.attemptNumber}`}>
              <td>
                <Link
                  to="/jobs"
                  search={{ job: one.jobId }}
                  className={`${classes.link} text-link`}
                  title={one.message}
                >
                  {one.spider}
                </Link>
                {one.attemptNumber > 1 && <span className="faint"> {texts.attempt(one.attemptNumber)}</span>}
              </td>
              <td className="dim">{nodeName(one.nodeId)}</td>
              <td>{formatCount(one.count)}</td>
              <td className="dim">
                <RelativeTime atMs={one.lastSeenMs} />
              </td>
              <td>
                <Link to="/logs" search={logSearchOf(one)} className={`${classes.link} text-link`}>
                  {formatCount(one.line)}
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {jobCount > occurrences.length && <p className="faint">{texts.onlyNewestRuns(occurrences.length)}</p>}
    </section>
  )
}

/** The number of bytes to read. A traceback through Scrapy's middlewares has more than a hundred lines. */
const READ_BYTES = 65_536
const MOST_LINES = 400

/** Shows the log record with its traceback, or only the message if the log cannot be read. */
function ErrorExample({ occurrence }: { occurrence: ErrorOccurrence }) {
  const api = useApi()
  const { jobId, attemptNumber, offset, message } = occurrence
  const log = useQuery(
    api.query.logs.read.queryOptions({
      input: { jobId, attemptNumber, offset, limitBytes: READ_BYTES },
      retry: false,
      staleTime: Number.POSITIVE_INFINITY
    })
  )
  if (log.isPending) return <RowsSkeleton rows={4} />
  const lines = log.data === undefined ? [] : foldLibraries(recordAt(log.data.text))
  return (
    <>
      <CodeBlock label={texts.example}>
        {(lines.length === 0 ? message.split('\n') : lines).map(plainText).join('\n')}
      </CodeBlock>
      {log.isError && <p className="dim">{texts.logNotAvailable}</p>}
    </>
  )
}

export function recordAt(text: string): string[] {
  const lines = text.split('\n')
  const format = formatOf(text)
  const next = lines.findIndex((line, index) => index > 0 && parseRecordHead(line, format) !== null)
  // The last line can be incomplete.
  return lines.slice(0, Math.min(MOST_LINES, next < 0 ? Math.max(1, lines.length - 1) : next))
}

const FRAME = /^\s*File "/
const OF_LIBRARY = /[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python\d|File "<frozen /

/** Collapses consecutive library frames into one line, to keep the project's frames and the exception visible. */
export function foldLibraries(lines: readonly string[]): string[] {
  const shown: string[] = []
  let frames = 0
  let isFolding = false
  const unfold = () => {
    if (frames > 0) shown.push(`  … ${texts.libraryFrames(frames)}`)
    frames = 0
  }
  for (const line of lines) {
    if (FRAME.test(line)) {
      isFolding = OF_LIBRARY.test(line)
      if (isFolding) frames += 1
    } else if (isFolding && !/^\s{2,}/.test(line)) isFolding = false
    if (isFolding) continue
    unfold()
    shown.push(line)
  }
  unfold()
  return shown
}
