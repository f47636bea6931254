import { Group } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import { useKeys } from '../state/keys.ts'
import { Kbd } from '../ui/kbd.tsx'
import { formatCount } from '../ui/numbers.ts'
import type { LogsClient } from './follow-log.ts'
import { LogFrame, useTerminalView } from './log-frame.tsx'
import searchClasses from './log-search-box.module.css'
import classes from './log-terminal.module.css'
import { EMPTY_MERGED, type MergedSource, MergedView } from './merged-view.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

interface MergedTerminalProps {
  /** The whole client, because each access to a part of it creates a new proxy. */
  client: { readonly logs: LogsClient }
  /** Mount the component with a `key` made of the sources, because a change to them needs a new view. */
  sources: readonly MergedSource[]
  hasKeys: boolean
}

export function MergedTerminal({ client, sources, hasKeys }: MergedTerminalProps) {
  const box = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const { host, view, snapshot } = useTerminalView(
    client,
    '',
    EMPTY_MERGED,
    (onChange) => new MergedView({ logs: client.logs, sources, onChange })
  )
  const find = (wanted: string, direction: 0 | 1 | -1) => {
    setText(wanted)
    view?.find(wanted, direction)
  }
  useKeys(
    texts.log,
    [
      { key: 'f', label: texts.followEndOfLogs, run: () => view?.follow(!snapshot.isFollowing) },
      { key: 'n', label: texts.nextMatch, run: () => find(text, 1) },
      { key: 'N', label: texts.previousMatch, run: () => find(text, -1) },
      { key: 'w', label: texts.wrapLongLines, run: () => view?.wrap(!snapshot.isWrapping) },
      { key: '/', label: texts.searchShownLines, run: () => box.current?.focus() }
    ],
    hasKeys
  )
  return (
    <LogFrame
      label={texts.mergedLogs}
      testId="merged-log"
      host={host}
      view={view}
      snapshot={snapshot}
      search={
        <Group gap={5} wrap="nowrap" className={`${searchClasses.search} faint`}>
          <IconSearch size={14} aria-hidden />
          <input
            ref={box}
            value={text}
            placeholder={texts.searchShownLines}
            aria-label={texts.searchShownLines}
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
          {text !== '' && (
            <span className={searchClasses.matches} role="status">
              {snapshot.matches === 0 ? texts.noMatches : formatCount(snapshot.matches)} <Kbd>n</Kbd> <Kbd>N</Kbd>
            </span>
          )}
        </Group>
      }
      copyLabel={texts.copyLogsHint}
      copyName={texts.copyLogs}
      status={
        <>
          <span>{texts.linesFromLogs(snapshot.lineCount, sources.length)}</span>
          <span className={`${classes.state} push`} role="status">
            {snapshot.liveCount > 0 && <span className="tone-run">{texts.liveCount(snapshot.liveCount)}</span>}
          </span>
        </>
      }
    />
  )
}
