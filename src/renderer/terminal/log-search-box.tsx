import { ActionIcon, Group, Tooltip } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconLetterCase, IconList, IconRegex, IconSearch } from '@tabler/icons-react'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { explainError } from '../api/explain-error.ts'
import { Kbd } from '../ui/kbd.tsx'
import { formatCount } from '../ui/numbers.ts'
import classes from './log-search-box.module.css'
import type { SearchState } from './log-search.ts'
import type { LogSnapshot, LogView } from './log-view.ts'
import { plainText } from './sanitise.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

interface SearchBoxProps {
  box: RefObject<HTMLInputElement | null>
  view: LogView | null
  snapshot: LogSnapshot
  isListing: boolean
  onListing: (isListing: boolean) => void
}

const TYPING_MS = 150

export function LogSearchBox({ box, view, snapshot, isListing, onListing }: SearchBoxProps) {
  const [text, setText] = useState('')
  const [isRegex, setRegex] = useState(false)
  const [matchesCase, setMatchesCase] = useState(false)
  const search = useDebouncedCallback((wanted: { text: string; isRegex: boolean; matchesCase: boolean }) => {
    view?.find(wanted)
  }, TYPING_MS)
  const change = (wanted: Partial<{ text: string; isRegex: boolean; matchesCase: boolean }>) => {
    const next = { text, isRegex, matchesCase, ...wanted }
    setText(next.text)
    setRegex(next.isRegex)
    setMatchesCase(next.matchesCase)
    if (next.text === '') view?.find(next)
    else search(next)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') view?.findNext(event.shiftKey ? -1 : 1)
    else if (event.key === 'Escape') {
      change({ text: '' })
      onListing(false)
      box.current?.blur()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <Group gap={5} wrap="nowrap" className={`${classes.search} faint`}>
      <IconSearch size={14} aria-hidden />
      <input
        ref={box}
        value={text}
        placeholder={texts.searchWholeLog}
        aria-label={texts.searchLog}
        spellCheck={false}
        onChange={(event) => change({ text: event.target.value })}
        onKeyDown={onKey}
      />
      {snapshot.search !== null && <MatchCount search={snapshot.search} index={snapshot.matchIndex} />}
      <Toggle label={texts.matchCase} isOn={matchesCase} onToggle={() => change({ matchesCase: !matchesCase })}>
        <IconLetterCase size={15} />
      </Toggle>
      <Toggle label={texts.regularExpression} isOn={isRegex} onToggle={() => change({ isRegex: !isRegex })}>
        <IconRegex size={15} />
      </Toggle>
      <Toggle label={texts.listAllMatches} isOn={isListing} onToggle={() => onListing(!isListing)}>
        <IconList size={15} />
      </Toggle>
    </Group>
  )
}

interface ToggleProps {
  label: string
  isOn: boolean
  onToggle: () => void
  children: React.ReactNode
}

function Toggle({ label, isOn, onToggle, children }: ToggleProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon size={22} onClick={onToggle} aria-label={label} aria-pressed={isOn} data-on={isOn || undefined}>
        {children}
      </ActionIcon>
    </Tooltip>
  )
}

function MatchCount({ search, index }: { search: SearchState; index: number }) {
  const { state, matches, searchedShare, error } = search
  if (state === 'failed') {
    return (
      <span className="tone-bad" role="alert">
        {explainError(error).text}
      </span>
    )
  }
  const share = `${Math.floor(searchedShare * 100)} %`
  if (state === 'copying') return <span className="faint">{texts.fetchingLog(share)}</span>
  if (matches === 0)
    return <span className="faint">{state === 'complete' ? texts.noMatches : texts.searching(share)}</span>
  return (
    <span className={classes.matches} role="status">
      {index >= 0 ? texts.matchOf(index + 1, matches) : formatCount(matches)}
      {state === 'searching' && <span className="faint"> · {share}</span>} <Kbd>n</Kbd> <Kbd>N</Kbd>
    </span>
  )
}

const ROW_HEIGHT = 22

export function MatchList({ view, search, index }: { view: LogView | null; search: SearchState; index: number }) {
  const scroller = useRef<HTMLDivElement>(null)
  const { found, matches } = search
  const rows = useVirtualizer({
    count: found.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10
  })
  useEffect(() => {
    if (index >= 0) rows.scrollToIndex(index, { align: 'auto' })
  }, [index, rows])
  return (
    <div className={`${classes.list} box fixed`} ref={scroller} role="listbox" aria-label={texts.matches} tabIndex={0}>
      <div style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map(({ index: at, start }) => {
          const { line, text, matchAt, matchLength } = found[at]!
          return (
            <button
              key={at}
              type="button"
              role="option"
              aria-selected={at === index}
              className={`${classes.match} small`}
              style={{ transform: `translateY(${start}px)` }}
              onClick={() => view?.showMatch(found[at]!)}
            >
              <span className={`${classes.number} fixed dim`}>{formatCount(line)}</span>
              {/* Cut on the left to keep the match visible in a narrow list. */}
              <span className={classes.before}>
                <bdi dir="ltr">{plainText(text.slice(0, matchAt))}</bdi>
              </span>
              <span className={`${classes.text} grow`}>
                <mark>{plainText(text.slice(matchAt, matchAt + matchLength))}</mark>
                {plainText(text.slice(matchAt + matchLength))}
              </span>
            </button>
          )
        })}
      </div>
      {matches > found.length && search.state === 'complete' && (
        <p className="faint">{texts.matchesCut(found.length, matches)}</p>
      )}
    </div>
  )
}
