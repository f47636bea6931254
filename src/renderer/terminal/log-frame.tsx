import '@xterm/xterm/css/xterm.css'
import { ActionIcon, Button, Group, Tooltip } from '@mantine/core'
import { IconArrowDown, IconCopy, IconTextWrap } from '@tabler/icons-react'
import { type MouseEvent, type ReactNode, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react'
import { copyLog } from '../ui/copy-button.tsx'
import { Kbd } from '../ui/kbd.tsx'
import type { LogsClient } from './follow-log.ts'
import { LevelChips, type LevelChipsProps } from './level-chips.tsx'
import classes from './log-terminal.module.css'
import type { TerminalView, ViewSnapshot } from './terminal-view.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

/** Creates a terminal's view when its element exists. A different client or `key` gets a new view. */
export function useTerminalView<Snapshot extends ViewSnapshot, View extends TerminalView<Snapshot>>(
  client: { readonly logs: LogsClient },
  key: string,
  empty: Snapshot,
  make: (onChange: () => void) => View
) {
  const host = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<View | null>(null)
  const [snapshot, setSnapshot] = useState(empty)
  const makeView = useEffectEvent(make)
  const clear = useEffectEvent(() => setSnapshot(empty))
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const made: View = makeView(() => setSnapshot(made.snapshot))
    made.open(element)
    setView(made)
    const detach = attachView(made, element)
    return () => {
      detach()
      made.close()
      setView(null)
      clear()
    }
  }, [client, key])
  return { host, view, snapshot }
}

/** Keeps a view's size, WebGL use and scrolling in sync with the page. Returns the cleanup function. */
function attachView(view: TerminalView<ViewSnapshot>, element: HTMLElement): () => void {
  const sizes = new ResizeObserver(() => view.fit())
  sizes.observe(element)
  const sight = new IntersectionObserver(([entry]) => view.setVisible(entry?.isIntersecting ?? false))
  sight.observe(element)
  // React's wheel listener is passive, so the page would scroll too.
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) return
    event.preventDefault()
    event.stopPropagation()
    view.scrollByWheel(event)
  }
  element.addEventListener('wheel', onWheel, { passive: false, capture: true })
  return () => {
    element.removeEventListener('wheel', onWheel, { capture: true })
    sizes.disconnect()
    sight.disconnect()
  }
}

interface LogFrameProps {
  label: string
  testId: string
  data?: Readonly<Record<`data-${string}`, number>>
  host: RefObject<HTMLDivElement | null>
  view: (TerminalView<ViewSnapshot> & { copyText(): string }) | null
  snapshot: ViewSnapshot & LevelChipsProps['snapshot']
  records?: LevelChipsProps['records']
  search: ReactNode
  /** Buttons before, between and after the common buttons. */
  actionsBefore?: ReactNode
  actionsBetween?: ReactNode
  actionsAfter?: ReactNode
  copyLabel: string
  copyName: string
  onMouseDown?: (event: MouseEvent) => void
  over?: ReactNode
  below?: ReactNode
  status: ReactNode
}

export function LogFrame(props: LogFrameProps) {
  const { view, snapshot } = props
  const { isFollowing, isWrapping, newLineCount, lineCount } = snapshot
  return (
    <section
      className={`${classes.log} column grow`}
      aria-label={props.label}
      data-testid={props.testId}
      {...props.data}
    >
      <Group gap={8} className={classes.toolbar} role="toolbar" aria-label={texts.log}>
        <LevelChips snapshot={snapshot} records={props.records} onShow={(levels) => view?.showLevels(levels)} />
        {props.search}
        <span className={classes.actions}>
          {props.actionsBefore}
          <Tooltip label={isWrapping ? texts.linesWrapped : texts.linesScroll}>
            <ActionIcon
              onClick={() => view?.wrap(!isWrapping)}
              aria-label={texts.wrapLongLines}
              aria-pressed={isWrapping}
              data-on={isWrapping || undefined}
            >
              <IconTextWrap size={16} />
            </ActionIcon>
          </Tooltip>
          {props.actionsBetween}
          <Tooltip label={props.copyLabel}>
            <ActionIcon onClick={() => copyLog(view?.copyText() ?? '')} aria-label={props.copyName}>
              <IconCopy size={16} />
            </ActionIcon>
          </Tooltip>
          {props.actionsAfter}
        </span>
        <Button
          onClick={() => view?.follow(!isFollowing)}
          aria-pressed={isFollowing}
          data-on={isFollowing || undefined}
          className={`${classes.follow} fixed`}
        >
          {isFollowing ? texts.following : texts.followLog} <Kbd>f</Kbd>
        </Button>
      </Group>
      <div
        className={`${classes.screen} box`}
        role="group"
        aria-label={texts.logText}
        tabIndex={0}
        onKeyDown={(event) => {
          if (!event.ctrlKey && !event.metaKey && view?.scrollBy(event.key)) event.preventDefault()
        }}
      >
        <div ref={props.host} className={`${classes.terminal} grow`} onMouseDown={props.onMouseDown} aria-hidden />
        {props.over}
        {!isFollowing && lineCount > 0 && newLineCount !== 0 && (
          <button type="button" className={classes.pill} onClick={() => view?.follow(true)}>
            <IconArrowDown size={14} aria-hidden />{' '}
            {newLineCount === null ? texts.goToEnd : texts.newLines(newLineCount)}
          </button>
        )}
        {/* A fast log would flood a screen reader: the lines can be read, but only the state is announced. */}
        <pre className="visually-hidden" role="log" aria-live="off" aria-label={texts.lastLines}>
          {snapshot.lastLines}
        </pre>
      </div>
      {props.below}
      <Group align="stretch" gap="2px 14px" className="tiny dim">
        {props.status}
      </Group>
    </section>
  )
}
