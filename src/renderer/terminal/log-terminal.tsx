import '@xterm/xterm/css/xterm.css'
import { ActionIcon, Button, Tooltip } from '@mantine/core'
import {
  IconAlertCircle,
  IconArrowDown,
  IconCheck,
  IconClock,
  IconCopy,
  IconDownload,
  IconLink,
  IconTextWrap
} from '@tabler/icons-react'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import { explainError } from '../api/explain-error.ts'
import { type KeyBinding, useKeys } from '../state/keys.ts'
import { Kbd } from '../ui/kbd.tsx'
import { copyLog, copyText } from '../ui/copy-log.ts'
import { notifyError } from '../ui/notify.tsx'
import { formatBytes, formatCount, plural } from '../ui/numbers.ts'
import { attachView } from './attach-view.ts'
import { LevelChips } from './level-chips.tsx'
import { LogGoTo } from './log-go-to.tsx'
import { downloadLog } from './download-log.ts'
import type { LogsClient } from './follow-log.ts'
import classes from './log-terminal.module.css'
import { LogSearchBox, MatchList } from './log-search-box.tsx'
import { LogScrollbar } from './log-scrollbar.tsx'
import { EMPTY_LOG, type LineRange, type LogSnapshot, LogView } from './log-view.ts'

export interface LogTerminalProps {
  /** The whole client, because its parts are proxies that are created anew on each access. */
  client: { readonly logs: LogsClient }
  jobId: JobId
  /** Absent: the newest attempt. */
  attemptNumber?: AttemptNumber
  /** Whose log it is, for its accessible name: `shop/prices on eu-1`. */
  title: string
  /** The name of the downloaded file. */
  fileName: string
  /** The text shown before the first line arrives. */
  waitingText: string
  /** Whether the log's keys (f, n, N, e, w, t, l) are active: it is visible and the only one. */
  hasKeys: boolean
  /** Buttons added by the screen, smallest first. */
  extraActions?: ReactNode
  /** `/` goes to the search of this log instead of another box of the screen. */
  hasSearchKey?: boolean
  /** Per level in the whole log (RunFigures); undefined: not known. */
  records?: Readonly<Record<string, number>> | undefined
  /** Its node deleted the rest, or is gone: what is shown is what had been copied. */
  isCut?: boolean
  /** Lines to begin with. Absent: the end of the log. */
  line?: LineRange | undefined
  /** The reader marked lines, for the address. */
  onMark?: (lines: LineRange | null) => void
  /** The address of these lines, for copying. */
  addressOf?: (lines: LineRange) => string
}

/** A live log: follow, filter by level, search, copy. Mount it with a `key` of job and attempt. */
export function LogTerminal(props: LogTerminalProps) {
  const { title, fileName, waitingText, hasKeys, hasSearchKey = false, extraActions, addressOf } = props
  const host = useRef<HTMLDivElement>(null)
  const searchBox = useRef<HTMLInputElement>(null)
  const [isListing, setListing] = useState(false)
  const { view, snapshot } = useLogView(props, host)

  const toggleFollow = () => view?.follow(!view.snapshot.isFollowing)
  const toggleWrap = () => view?.wrap(!view.snapshot.isWrapping)
  const toggleTimes = () => view?.showTimes(!view.snapshot.showsTimes)
  const bindings: KeyBinding[] = [
    { key: 'f', label: 'Follow the end of the log', run: toggleFollow },
    { key: 'e', label: 'Next ERROR', run: () => void view?.showNextError() },
    { key: 'n', label: 'Next match', run: () => view?.findNext(1) },
    { key: 'N', label: 'Previous match', run: () => view?.findNext(-1) },
    { key: 'w', label: 'Wrap long lines', run: toggleWrap },
    { key: 't', label: 'Show times', run: toggleTimes }
  ]
  if (hasSearchKey) bindings.push({ key: '/', label: 'Search the log', run: () => searchBox.current?.focus() })
  useKeys('Log', bindings, hasKeys)

  return (
    <section
      className={classes.log}
      aria-label={`Log of ${title}`}
      data-testid="log"
      data-size-bytes={snapshot.sizeBytes}
      data-skipped-bytes={snapshot.skippedBytes}
    >
      <div className={classes.toolbar} role="toolbar" aria-label="Log">
        <LevelChips snapshot={snapshot} records={props.records} onShow={(levels) => view?.showLevels(levels)} />
        <LogSearchBox box={searchBox} view={view} snapshot={snapshot} isListing={isListing} onListing={setListing} />
        <span className={classes.actions}>
          <Tooltip label="Next ERROR (e)">
            <ActionIcon onClick={() => void view?.showNextError()} aria-label="Next ERROR">
              <IconAlertCircle size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={snapshot.isWrapping ? 'Long lines are wrapped (w)' : 'Long lines scroll horizontally (w)'}>
            <ActionIcon
              onClick={toggleWrap}
              aria-label="Wrap long lines"
              aria-pressed={snapshot.isWrapping}
              data-on={snapshot.isWrapping || undefined}
            >
              <IconTextWrap size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={snapshot.showsTimes ? 'Times are shown (t)' : 'Times are hidden (t)'}>
            <ActionIcon
              onClick={toggleTimes}
              aria-label="Show times"
              aria-pressed={snapshot.showsTimes}
              data-on={snapshot.showsTimes || undefined}
            >
              <IconClock size={16} />
            </ActionIcon>
          </Tooltip>
          {addressOf !== undefined && snapshot.marked !== null && (
            <Tooltip label={`Copy a link to ${wordsOf(snapshot.marked)}`}>
              <ActionIcon
                onClick={() => copyText(addressOf(snapshot.marked!), 'Link copied')}
                aria-label={`Copy a link to ${wordsOf(snapshot.marked)}`}
              >
                <IconLink size={16} />
              </ActionIcon>
            </Tooltip>
          )}
          <Tooltip label="Copy the selection, the marked lines, or all lines shown">
            <ActionIcon onClick={() => copyLog(view?.copyText() ?? '')} aria-label="Copy the log">
              <IconCopy size={16} />
            </ActionIcon>
          </Tooltip>
          <DownloadButton {...props} fileName={fileName} />
          {extraActions}
        </span>
        <Button
          onClick={toggleFollow}
          aria-pressed={snapshot.isFollowing}
          data-on={snapshot.isFollowing || undefined}
          className={classes.follow}
        >
          {snapshot.isFollowing ? 'Following' : 'Follow'} <Kbd>f</Kbd>
        </Button>
      </div>
      <div
        className={classes.screen}
        role="group"
        aria-label="Log text"
        tabIndex={0}
        onKeyDown={(event) => {
          if (!event.ctrlKey && !event.metaKey && view?.scrollBy(event.key)) event.preventDefault()
        }}
      >
        <div
          ref={host}
          className={classes.terminal}
          onMouseDown={(event) => view?.mark(event.nativeEvent)}
          aria-hidden
        />
        <LogScrollbar view={view} snapshot={snapshot} />
        {snapshot.lineCount === 0 && (
          <Waiting snapshot={snapshot} waitingText={waitingText} onRetry={() => view?.retry()} />
        )}
        <NewLines snapshot={snapshot} onFollow={() => view?.follow(true)} />
        {/* A fast log would flood a screen reader: its lines can be read, but only the state is announced. */}
        <pre className="visually-hidden" role="log" aria-live="off" aria-label="The last lines">
          {snapshot.lastLines}
        </pre>
      </div>
      {isListing && snapshot.search !== null && (
        <MatchList view={view} search={snapshot.search} index={snapshot.matchIndex} />
      )}
      <StatusLine
        snapshot={snapshot}
        isCut={props.isCut === true}
        goTo={<LogGoTo view={view} snapshot={snapshot} hasKeys={hasKeys} />}
      />
    </section>
  )
}

/** Creates the view once the element exists. */
function useLogView(props: LogTerminalProps, host: RefObject<HTMLDivElement | null>) {
  const { client, jobId, attemptNumber } = props
  const [view, setView] = useState<LogView | null>(null)
  const [snapshot, setSnapshot] = useState<LogSnapshot>(EMPTY_LOG)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const made = new LogView({
      logs: client.logs,
      jobId,
      attemptNumber,
      onChange: () => setSnapshot(made.snapshot),
      onError: notifyError,
      onMark: (lines) => latest.current.onMark?.(lines)
    })
    made.open(element, latest.current.line)
    setView(made)
    const detach = attachView(made, element)
    return () => {
      detach()
      made.close()
      setView(null)
      setSnapshot(EMPTY_LOG)
    }
  }, [client, jobId, attemptNumber, host])
  // A link to other lines of the log that is open already.
  const { from, to } = props.line ?? {}
  useEffect(() => {
    if (from !== undefined && to !== undefined) view?.showAddress({ from, to })
  }, [view, from, to])
  return { view, snapshot }
}

function NewLines({ snapshot, onFollow }: { snapshot: LogSnapshot; onFollow: () => void }) {
  const { isFollowing, newLineCount, lineCount } = snapshot
  if (isFollowing || lineCount === 0 || newLineCount === 0) return null
  return (
    <button type="button" className={classes.pill} onClick={onFollow}>
      <IconArrowDown size={14} aria-hidden />{' '}
      {newLineCount === null ? 'Go to the end' : plural(newLineCount, 'new line')}
    </button>
  )
}

function wordsOf({ from, to }: LineRange): string {
  return from === to ? `line ${formatCount(from)}` : `lines ${formatCount(from)} to ${formatCount(to)}`
}

function DownloadButton({ client, jobId, attemptNumber, fileName }: LogTerminalProps) {
  const [share, setShare] = useState<number | null>(null)
  const download = async () => {
    setShare(0)
    try {
      await downloadLog({ logs: client.logs, jobId, attemptNumber, fileName, onProgress: setShare })
    } catch (error) {
      notifyError('Could not download the log', error)
    } finally {
      setShare(null)
    }
  }
  return (
    <Tooltip label={share === null ? 'Download the whole log' : `Downloading, ${Math.round(share * 100)} %`}>
      <ActionIcon onClick={() => void download()} loading={share !== null} aria-label="Download the log">
        <IconDownload size={16} />
      </ActionIcon>
    </Tooltip>
  )
}

interface WaitingProps {
  snapshot: LogSnapshot
  waitingText: string
  onRetry: () => void
}

function Waiting({ snapshot: { state }, waitingText, onRetry }: WaitingProps) {
  if (state.kind === 'unavailable' || state.kind === 'interrupted') {
    const { title, text } = explainError(state.error)
    return (
      <div className={classes.waiting} role="alert">
        <strong>{title}</strong>
        <p>{text}</p>
        {state.kind === 'interrupted' ? <p>Trying again…</p> : <Button onClick={onRetry}>Retry</Button>}
      </div>
    )
  }
  return (
    <div className={classes.waiting}>
      {state.kind === 'complete'
        ? 'There is no log: the run did not write one, or its node or retention has deleted it.'
        : waitingText}
    </div>
  )
}

function StatusLine({ snapshot, isCut, goTo }: { snapshot: LogSnapshot; isCut: boolean; goTo: ReactNode }) {
  const { sizeBytes, skippedBytes, isLoading, state } = snapshot
  return (
    <div className={classes.status}>
      <span>
        {goTo} · {formatBytes(sizeBytes)}
      </span>
      {skippedBytes > 0 && (
        <span className="tone-wait">
          {formatBytes(skippedBytes)} skipped to keep up with the log. Scroll up to read the skipped lines.
        </span>
      )}
      {isLoading && <span className="faint">loading…</span>}
      <span className={classes.state} role="status">
        {state.kind === 'live' && <span className="tone-run">● live</span>}
        {state.kind === 'complete' && isCut && (
          <Tooltip label="The node deleted the rest of this log or is gone. The part that was copied before is kept. See the job’s timeline for details.">
            <span className="tone-wait" tabIndex={0}>
              ▲ incomplete: only the copied part is kept
            </span>
          </Tooltip>
        )}
        {state.kind === 'complete' && !isCut && (
          <>
            <IconCheck size={13} aria-hidden /> complete
          </>
        )}
        {state.kind === 'interrupted' && <span className="tone-wait">▲ interrupted, trying again…</span>}
      </span>
    </div>
  )
}
