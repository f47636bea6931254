import '@xterm/xterm/css/xterm.css'
import { ActionIcon, Button, Tooltip } from '@mantine/core'
import {
  IconAlertCircle,
  IconArrowDown,
  IconCheck,
  IconCopy,
  IconDownload,
  IconSearch,
  IconTextWrap
} from '@tabler/icons-react'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import type { JobId, AttemptNumber } from '../../shared/contract/index.ts'
import { explainError } from '../api/explain-error.ts'
import { type KeyBinding, useKeys } from '../state/keys.ts'
import { Kbd } from '../ui/kbd.tsx'
import { copyLog } from '../ui/copy-log.ts'
import { notifyError } from '../ui/notify.tsx'
import { formatBytes, formatCount, plural } from '../ui/numbers.ts'
import { downloadLog } from './download-log.ts'
import type { LogsClient } from './follow-log.ts'
import { LOG_LEVELS, type LogLevel } from './log-line.ts'
import classes from './log-terminal.module.css'
import { EMPTY_LOG, type LogSnapshot, LogView } from './log-view.ts'

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
  /** Whether the log's keys (f, n, N, e, w) are active: it is visible and the only one. */
  hasKeys: boolean
  /** Buttons added by the screen, smallest first. */
  extraActions?: ReactNode
  /** `/` goes to the search of this log instead of another box of the screen. */
  hasSearchKey?: boolean
}

/** A live log: follow, filter by level, search, copy. Mount it with a `key` of job and attempt. */
export function LogTerminal(props: LogTerminalProps) {
  const { title, fileName, waitingText, hasKeys, hasSearchKey = false, extraActions } = props
  const host = useRef<HTMLDivElement>(null)
  const searchBox = useRef<HTMLInputElement>(null)
  const [query, setQuery] = useState('')
  const { view, snapshot } = useLogView(props, host)

  const find = (text: string, step: 'first' | 'next' | 'before') => view?.find(text, step)
  const clearSearch = () => {
    setQuery('')
    find('', 'first')
    searchBox.current?.blur()
  }
  const toggleFollow = () => view?.follow(!view.snapshot.isFollowing)
  const toggleWrap = () => view?.wrap(!view.snapshot.isWrapping)
  const bindings: KeyBinding[] = [
    { key: 'f', label: 'Follow the end of the log', run: toggleFollow },
    { key: 'e', label: 'Next ERROR', run: () => view?.showNextError() },
    { key: 'n', label: 'Next match', run: () => find(query, 'next') },
    { key: 'N', label: 'Match before', run: () => find(query, 'before') },
    { key: 'w', label: 'Wrap long lines', run: toggleWrap }
  ]
  if (hasSearchKey) bindings.push({ key: '/', label: 'Search the log', run: () => searchBox.current?.focus() })
  useKeys('Log', bindings, hasKeys)

  const onSearchKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') find(query, event.shiftKey ? 'before' : 'next')
    else if (event.key === 'Escape') clearSearch()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  return (
    <section className={classes.log} aria-label={`Log of ${title}`} data-testid="log">
      <div className={classes.toolbar} role="toolbar" aria-label="Log">
        <LevelChips snapshot={snapshot} onShow={(levels) => view?.showLevels(levels)} />
        <div className={classes.search}>
          <IconSearch size={14} aria-hidden />
          <input
            ref={searchBox}
            value={query}
            placeholder="Find in the log"
            aria-label="Find in the log"
            spellCheck={false}
            onChange={(event) => {
              setQuery(event.target.value)
              find(event.target.value, 'first')
            }}
            onKeyDown={onSearchKey}
          />
          {query !== '' && <MatchCount snapshot={snapshot} />}
        </div>
        <span className={classes.actions}>
          <Tooltip label="Next ERROR (e)">
            <ActionIcon
              onClick={() => view?.showNextError()}
              disabled={snapshot.counts.ERROR === 0}
              aria-label="Next ERROR"
            >
              <IconAlertCircle size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={snapshot.isWrapping ? 'Long lines are wrapped (w)' : 'Long lines scroll sideways (w)'}>
            <ActionIcon
              onClick={toggleWrap}
              aria-label="Wrap long lines"
              aria-pressed={snapshot.isWrapping}
              data-on={snapshot.isWrapping || undefined}
            >
              <IconTextWrap size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Copy the selection, or all lines shown">
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
        <div ref={host} className={classes.terminal} data-wrap={snapshot.isWrapping || undefined} aria-hidden />
        {snapshot.lineCount === 0 && (
          <Waiting snapshot={snapshot} waitingText={waitingText} onRetry={() => view?.retry()} />
        )}
        {!snapshot.isFollowing && snapshot.newLineCount > 0 && (
          <button type="button" className={classes.pill} onClick={() => view?.follow(true)}>
            <IconArrowDown size={14} aria-hidden /> {plural(snapshot.newLineCount, 'new line')}
          </button>
        )}
        {/* A fast log would flood a screen reader: its lines can be read, but only the state is announced. */}
        <pre className="visually-hidden" role="log" aria-live="off" aria-label="The last lines">
          {snapshot.lastLines}
        </pre>
      </div>
      <StatusLine snapshot={snapshot} />
    </section>
  )
}

/** Creates the view once the element exists, and keeps its size and its use of WebGL in sync with the page. */
function useLogView({ client, jobId, attemptNumber }: LogTerminalProps, host: RefObject<HTMLDivElement | null>) {
  const [view, setView] = useState<LogView | null>(null)
  const [snapshot, setSnapshot] = useState<LogSnapshot>(EMPTY_LOG)
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const made = new LogView({
      logs: client.logs,
      jobId,
      attemptNumber,
      onChange: () => setSnapshot(made.snapshot),
      onError: (error) => notifyError('Could not load older lines', error)
    })
    made.open(element)
    setView(made)
    const sizes = new ResizeObserver(() => made.fit())
    sizes.observe(element)
    const sight = new IntersectionObserver(([entry]) => made.setVisible(entry?.isIntersecting ?? false))
    sight.observe(element)
    return () => {
      sizes.disconnect()
      sight.disconnect()
      made.close()
      setView(null)
      setSnapshot(EMPTY_LOG)
    }
  }, [client, jobId, attemptNumber, host])
  return { view, snapshot }
}

/** A click hides or shows a level; with Shift, or on a double click, only that level is shown. */
function LevelChips({ snapshot, onShow }: { snapshot: LogSnapshot; onShow: (levels: ReadonlySet<LogLevel>) => void }) {
  const { shownLevels, counts } = snapshot
  const toggle = (level: LogLevel, alone: boolean) => {
    const isAlone = shownLevels.size === 1 && shownLevels.has(level)
    if (alone || isAlone) return onShow(new Set(isAlone ? LOG_LEVELS : [level]))
    const next = new Set(shownLevels)
    if (!next.delete(level)) next.add(level)
    onShow(next)
  }
  return (
    <span className={classes.chips} role="group" aria-label="Levels shown">
      {LOG_LEVELS.map((level) => (
        <button
          key={level}
          type="button"
          className={classes.chip}
          data-level={level}
          aria-pressed={shownLevels.has(level)}
          title={`${shownLevels.has(level) ? 'Hide' : 'Show'} ${level}; with Shift: only ${level}`}
          onClick={(event) => toggle(level, event.shiftKey)}
        >
          <span className={classes.level}>{level}</span> <b>{formatCount(counts[level])}</b>
        </button>
      ))}
    </span>
  )
}

function MatchCount({ snapshot: { match } }: { snapshot: LogSnapshot }) {
  if (match === null) return null
  if (match.count === 0) return <span className="faint">no match</span>
  return (
    <span className={classes.matches} role="status">
      {match.index >= 0 ? `${formatCount(match.index + 1)} of ` : ''}
      {formatCount(match.count)} <Kbd>n</Kbd> <Kbd>N</Kbd>
    </span>
  )
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
        {state.kind === 'interrupted' ? <p>Trying again…</p> : <Button onClick={onRetry}>Look again</Button>}
      </div>
    )
  }
  return (
    <div className={classes.waiting}>
      {state.kind === 'complete' ? 'The run ended without writing a line.' : waitingText}
    </div>
  )
}

function StatusLine({ snapshot }: { snapshot: LogSnapshot }) {
  const { lineCount, sizeBytes, earlierBytes, isFull, isLoadingOlder, state } = snapshot
  return (
    <div className={classes.status}>
      <span>
        {plural(lineCount, 'line')} · {formatBytes(sizeBytes)}
      </span>
      {earlierBytes > 0 && (
        <span className="faint">
          {isLoadingOlder
            ? 'loading older lines…'
            : `${formatBytes(earlierBytes)} before this: ${isFull ? 'download the log to read them' : 'scroll up'}`}
        </span>
      )}
      <span className={classes.state} role="status">
        {state.kind === 'live' && <span className="tone-run">● live</span>}
        {state.kind === 'complete' && (
          <>
            <IconCheck size={13} aria-hidden /> complete
          </>
        )}
        {state.kind === 'interrupted' && <span className="tone-wait">▲ interrupted, trying again…</span>}
      </span>
    </div>
  )
}
