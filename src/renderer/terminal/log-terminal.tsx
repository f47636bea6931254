import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { IconAlertCircle, IconCheck, IconClock, IconDownload, IconLink } from '@tabler/icons-react'
import { type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import { explainError } from '../api/explain-error.ts'
import { type KeyBinding, useKeys } from '../state/keys.ts'
import { copyText } from '../ui/copy-button.tsx'
import { notifyError } from '../ui/notify.tsx'
import { formatBytes } from '../ui/numbers.ts'
import { LogGoTo } from './log-go-to.tsx'
import { downloadLog } from './download-log.ts'
import type { LogsClient } from './follow-log.ts'
import { LogFrame, useTerminalView } from './log-frame.tsx'
import scrollbar from './log-scrollbar.module.css'
import classes from './log-terminal.module.css'
import { LogSearchBox, MatchList } from './log-search-box.tsx'
import { EMPTY_LOG, type LineRange, type LogSnapshot, LogView } from './log-view.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

export interface LogTerminalProps {
  /** The whole client, because each access to a part of it creates a new proxy. */
  client: { readonly logs: LogsClient }
  jobId: JobId
  attemptNumber?: AttemptNumber
  /** The run, for the accessible name: `shop/prices on eu-1`. */
  title: string
  fileName: string
  waitingText: string
  /** Whether the log's keys (f, n, N, e, w, t, l) are active: only for a single visible log. */
  hasKeys: boolean
  extraActions?: ReactNode
  /** Whether `/` focuses the search of this log, not another search box of the screen. */
  hasSearchKey?: boolean
  /** Records per level in the whole log (RunFigures). undefined: unknown. */
  records?: Readonly<Record<string, number>> | undefined
  /** Whether only the copied part is available, because the node deleted the rest or no longer exists. */
  isCut?: boolean
  /** The first lines to show. Default: the end of the log. */
  line?: LineRange | undefined
  onMark?: (lines: LineRange | null) => void
  addressOf?: (lines: LineRange) => string
}

/** A live log. Mount it with a `key` of job and attempt. */
export function LogTerminal(props: LogTerminalProps) {
  const { title, fileName, waitingText, hasKeys, hasSearchKey = false, extraActions, addressOf } = props
  const { client, jobId, attemptNumber } = props
  const searchBox = useRef<HTMLInputElement>(null)
  const [isListing, setListing] = useState(false)
  const { host, view, snapshot } = useTerminalView(
    client,
    `${jobId} ${attemptNumber}`,
    EMPTY_LOG,
    (onChange) =>
      new LogView({
        logs: client.logs,
        jobId,
        attemptNumber,
        line: props.line,
        onChange,
        onError: notifyError,
        onMark: (lines) => latestOnMark.current?.(lines)
      })
  )
  const latestOnMark = useRef(props.onMark)
  latestOnMark.current = props.onMark
  const { from, to } = props.line ?? {}
  useEffect(() => {
    if (from !== undefined && to !== undefined) view?.showAddress({ from, to })
  }, [view, from, to])

  const { showsTimes, marked } = snapshot
  const toggleTimes = () => view?.showTimes(!showsTimes)
  const bindings: KeyBinding[] = [
    { key: 'f', label: texts.followEnd, run: () => view?.follow(!snapshot.isFollowing) },
    { key: 'e', label: texts.nextError, run: () => void view?.showNextError() },
    { key: 'n', label: texts.nextMatch, run: () => view?.findNext(1) },
    { key: 'N', label: texts.previousMatch, run: () => view?.findNext(-1) },
    { key: 'w', label: texts.wrapLongLines, run: () => view?.wrap(!snapshot.isWrapping) },
    { key: 't', label: texts.showTimes, run: toggleTimes }
  ]
  if (hasSearchKey) bindings.push({ key: '/', label: texts.searchLog, run: () => searchBox.current?.focus() })
  useKeys(texts.log, bindings, hasKeys)

  return (
    <LogFrame
      label={texts.logOf(title)}
      testId="log"
      data={{ 'data-size-bytes': snapshot.sizeBytes, 'data-skipped-bytes': snapshot.skippedBytes }}
      host={host}
      view={view}
      snapshot={snapshot}
      records={props.records}
      search={
        <LogSearchBox box={searchBox} view={view} snapshot={snapshot} isListing={isListing} onListing={setListing} />
      }
      actionsBefore={
        <Tooltip label={texts.nextErrorHint}>
          <ActionIcon onClick={() => void view?.showNextError()} aria-label={texts.nextError}>
            <IconAlertCircle size={16} />
          </ActionIcon>
        </Tooltip>
      }
      actionsBetween={
        <>
          <Tooltip label={showsTimes ? texts.timesShown : texts.timesHidden}>
            <ActionIcon
              onClick={toggleTimes}
              aria-label={texts.showTimes}
              aria-pressed={showsTimes}
              data-on={showsTimes || undefined}
            >
              <IconClock size={16} />
            </ActionIcon>
          </Tooltip>
          {addressOf !== undefined && marked !== null && (
            <Tooltip label={texts.copyLinkTo(wordsOf(marked))}>
              <ActionIcon
                onClick={() => copyText(addressOf(marked), texts.linkCopied)}
                aria-label={texts.copyLinkTo(wordsOf(marked))}
              >
                <IconLink size={16} />
              </ActionIcon>
            </Tooltip>
          )}
        </>
      }
      copyLabel={texts.copyHint}
      copyName={texts.copyLog}
      actionsAfter={
        <>
          <DownloadButton {...props} fileName={fileName} />
          {extraActions}
        </>
      }
      onMouseDown={(event) => view?.mark(event.nativeEvent)}
      over={
        <>
          <LogScrollbar view={view} snapshot={snapshot} />
          {snapshot.lineCount === 0 && (
            <Waiting snapshot={snapshot} waitingText={waitingText} onRetry={() => view?.retry()} />
          )}
        </>
      }
      below={
        isListing &&
        snapshot.search !== null && <MatchList view={view} search={snapshot.search} index={snapshot.matchIndex} />
      }
      status={
        <LogStatus
          snapshot={snapshot}
          isCut={props.isCut === true}
          goTo={<LogGoTo view={view} snapshot={snapshot} hasKeys={hasKeys} />}
        />
      }
    />
  )
}

function wordsOf({ from, to }: LineRange): string {
  return from === to ? texts.oneLine(from) : texts.lineRange(from, to)
}

function DownloadButton({ client, jobId, attemptNumber, fileName }: LogTerminalProps) {
  const [share, setShare] = useState<number | null>(null)
  const download = async () => {
    setShare(0)
    try {
      await downloadLog({ logs: client.logs, jobId, attemptNumber, fileName, onProgress: setShare })
    } catch (error) {
      notifyError(texts.couldNotDownloadLog, error)
    } finally {
      setShare(null)
    }
  }
  return (
    <Tooltip label={share === null ? texts.downloadWholeLog : texts.downloading(Math.round(share * 100))}>
      <ActionIcon onClick={() => void download()} loading={share !== null} aria-label={texts.downloadLog}>
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
        {state.kind === 'interrupted' ? <p>{texts.tryingAgain}</p> : <Button onClick={onRetry}>{texts.retry}</Button>}
      </div>
    )
  }
  return <div className={classes.waiting}>{state.kind === 'complete' ? texts.noLog : waitingText}</div>
}

function LogStatus({ snapshot, isCut, goTo }: { snapshot: LogSnapshot; isCut: boolean; goTo: ReactNode }) {
  const { sizeBytes, skippedBytes, isLoading, state } = snapshot
  return (
    <>
      <span>
        {goTo} · {formatBytes(sizeBytes)}
      </span>
      {skippedBytes > 0 && <span className="tone-wait">{texts.skipped(formatBytes(skippedBytes))}</span>}
      {isLoading && <span className="faint">{texts.loading}</span>}
      <span className={`${classes.state} push`} role="status">
        {state.kind === 'live' && <span className="tone-run">{texts.live}</span>}
        {state.kind === 'complete' && isCut && (
          <Tooltip label={texts.incompleteHint}>
            <span className="tone-wait" tabIndex={0}>
              {texts.incomplete}
            </span>
          </Tooltip>
        )}
        {state.kind === 'complete' && !isCut && (
          <>
            <IconCheck size={13} aria-hidden /> {texts.complete}
          </>
        )}
        {state.kind === 'interrupted' && <span className="tone-wait">{texts.interrupted}</span>}
      </span>
    </>
  )
}

const MIN_THUMB_PX = 24
const MOST_TICKS = 200

/**
 * Shows which part of the log is visible, by bytes, and where the matches are. Dragging scrolls to the pointer
 * immediately.
 */
function LogScrollbar({ view, snapshot }: { view: LogView | null; snapshot: LogSnapshot }) {
  const track = useRef<HTMLDivElement>(null)
  const { visible, search, sizeBytes } = snapshot
  const goTo = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect()
    view?.goToShare(Math.min(1, Math.max(0, (event.clientY - box.top) / box.height)))
  }
  if (visible.from <= 0 && visible.to >= 1) return null
  const found = search?.found ?? []
  const every = Math.max(1, Math.ceil(found.length / MOST_TICKS))
  return (
    <div
      ref={track}
      className={`${scrollbar.track} fixed`}
      aria-hidden
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        goTo(event)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event)
      }}
    >
      {found.map(
        ({ offset }, index) =>
          index % every === 0 && (
            <i key={offset} className={scrollbar.tick} style={{ top: `${(offset / Math.max(1, sizeBytes)) * 100}%` }} />
          )
      )}
      <div
        className={scrollbar.thumb}
        style={{
          top: `calc(${visible.from * 100}% - ${visible.from * MIN_THUMB_PX}px)`,
          height: `max(${MIN_THUMB_PX}px, ${(visible.to - visible.from) * 100}%)`
        }}
      />
    </div>
  )
}
