import '@xterm/xterm/css/xterm.css'
import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { IconArrowDown, IconCopy, IconSearch, IconTextWrap } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../state/keys.ts'
import { copyLog } from '../ui/copy-log.ts'
import { Kbd } from '../ui/kbd.tsx'
import { formatCount, plural } from '../ui/numbers.ts'
import { attachView } from './attach-view.ts'
import type { LogsClient } from './follow-log.ts'
import { LevelChips } from './level-chips.tsx'
import searchClasses from './log-search-box.module.css'
import classes from './log-terminal.module.css'
import { type MergedSnapshot, type MergedSource, MergedView } from './merged-view.ts'

interface MergedTerminalProps {
  /** The whole client, because its parts are proxies that are created anew on each access. */
  client: { readonly logs: LogsClient }
  /** Mount it with a `key` of these. */
  sources: readonly MergedSource[]
  hasKeys: boolean
}

/** The logs of several jobs as one: each line with the name of its log, in its colour. */
export function MergedTerminal({ client, sources, hasKeys }: MergedTerminalProps) {
  const host = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLInputElement>(null)
  const first = useRef(sources)
  const [view, setView] = useState<MergedView | null>(null)
  const [snapshot, setSnapshot] = useState<MergedSnapshot | null>(null)
  const [text, setText] = useState('')
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const made = new MergedView({
      ...{ logs: client.logs, sources: first.current },
      onChange: () => setSnapshot(made.snapshot)
    })
    made.open(element)
    setView(made)
    const detach = attachView(made, element)
    return () => {
      detach()
      made.close()
    }
  }, [client])

  const toggleFollow = () => view?.follow(!view.snapshot.isFollowing)
  const find = (wanted: string, direction: 0 | 1 | -1) => {
    setText(wanted)
    view?.find(wanted, direction)
  }
  useKeys(
    'Log',
    [
      { key: 'f', label: 'Follow the end of the logs', run: toggleFollow },
      { key: 'n', label: 'Next match', run: () => find(text, 1) },
      { key: 'N', label: 'Previous match', run: () => find(text, -1) },
      { key: '/', label: 'Search the lines shown', run: () => box.current?.focus() }
    ],
    hasKeys
  )
  return (
    <section className={classes.log} aria-label="Merged logs" data-testid="merged-log">
      <div className={classes.toolbar} role="toolbar" aria-label="Log">
        {snapshot !== null && <LevelChips snapshot={snapshot} onShow={(levels) => view?.showLevels(levels)} />}
        <div className={searchClasses.search}>
          <IconSearch size={14} aria-hidden />
          <input
            ref={box}
            value={text}
            placeholder="Search the lines shown"
            aria-label="Search the lines shown"
            spellCheck={false}
            onChange={(event) => find(event.target.value, 0)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') find(text, event.shiftKey ? -1 : 1)
              else if (event.key === 'Escape') find('', 0)
              else return
              event.preventDefault()
              event.stopPropagation()
            }}
          />
          {text !== '' && snapshot !== null && (
            <span className={searchClasses.matches} role="status">
              {snapshot.matches === 0 ? 'no matches' : formatCount(snapshot.matches)} <Kbd>n</Kbd> <Kbd>N</Kbd>
            </span>
          )}
        </div>
        <span className={classes.actions}>
          <Tooltip label={snapshot?.isWrapping === false ? 'Long lines are truncated' : 'Long lines are wrapped'}>
            <ActionIcon
              onClick={() => view?.wrap(!view.snapshot.isWrapping)}
              aria-label="Wrap long lines"
              aria-pressed={snapshot?.isWrapping ?? true}
              data-on={snapshot?.isWrapping || undefined}
            >
              <IconTextWrap size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Copy the selection, or all lines shown">
            <ActionIcon onClick={() => copyLog(view?.copyText() ?? '')} aria-label="Copy the logs">
              <IconCopy size={16} />
            </ActionIcon>
          </Tooltip>
        </span>
        <Button
          onClick={toggleFollow}
          aria-pressed={snapshot?.isFollowing ?? true}
          data-on={snapshot?.isFollowing || undefined}
          className={classes.follow}
        >
          {snapshot?.isFollowing === false ? 'Follow' : 'Following'} <Kbd>f</Kbd>
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
        <div ref={host} className={classes.terminal} aria-hidden />
        {snapshot !== null && !snapshot.isFollowing && snapshot.newLineCount > 0 && (
          <button type="button" className={classes.pill} onClick={() => view?.follow(true)}>
            <IconArrowDown size={14} aria-hidden /> {plural(snapshot.newLineCount, 'new line')}
          </button>
        )}
        <pre className="visually-hidden" role="log" aria-live="off" aria-label="The last lines">
          {snapshot?.lastLines}
        </pre>
      </div>
      <div className={classes.status}>
        <span>
          {plural(snapshot?.lineCount ?? 0, 'line')} from {sources.length} logs
        </span>
        <span className={classes.state} role="status">
          {(snapshot?.liveCount ?? 0) > 0 && <span className="tone-run">● {snapshot!.liveCount} live</span>}
        </span>
      </div>
    </section>
  )
}
