import type { ReactNode } from 'react'
import classes from './panel.module.css'
import panelsScreenClasses from './panels-screen.module.css'
import { ActionIcon, Flex, Group, Stack, Tooltip } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import paneHeadClasses from './pane-head.module.css'
import { texts as words } from '../../shared/texts/ui/shared.ts'

interface PanelProps {
  title?: ReactNode
  note?: ReactNode
  aside?: ReactNode
  /** Whether to omit the padding, for tables and lists that have their own. */
  flush?: boolean
  children: ReactNode
}

export function Panel({ title, note, aside, flush = false, children }: PanelProps) {
  return (
    <section className={`${classes.panel} card`}>
      {title !== undefined && (
        <header className={classes.head}>
          <h2>{title}</h2>
          {note !== undefined && <span className="faint">{note}</span>}
          {aside !== undefined && (
            <Flex component="span" align="center" gap={10} className={`${classes.aside} push small faint`}>
              {aside}
            </Flex>
          )}
        </header>
      )}
      <div className={flush ? undefined : classes.body}>{children}</div>
    </section>
  )
}

export function FieldRow({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className={classes.field}>
      <span className="dim">{label}</span>
      <span className="break">{children}</span>
    </div>
  )
}

interface ScreenHeadProps {
  title: ReactNode
  views?: ReactNode
  note?: ReactNode
  children?: ReactNode
}

export function ScreenHead({ title, views, note, children }: ScreenHeadProps) {
  return (
    <Group gap="6px 12px" mih={30} className={classes.screenHead}>
      <h1>{title}</h1>
      {views !== undefined && (
        <Flex component="span" className={classes.views}>
          {views}
        </Flex>
      )}
      {note !== undefined && <span className="faint">{note}</span>}
      <span className="grow" />
      {children}
    </Group>
  )
}

interface DetailPaneProps {
  label: string
  /** Whether the pane is wide, for long text in sections with an `h3`. */
  isWide?: boolean
  children: ReactNode
}

/** A pane beside the list, or over it on narrow screens. The list handles Esc. */
export function DetailPane({ label, isWide = false, children }: DetailPaneProps) {
  return (
    <aside className={`${classes.detail} column fixed`} data-wide={isWide || undefined} aria-label={label}>
      {children}
    </aside>
  )
}

export function PaneTitle({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className={classes.paneTitle}>
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function CodeBlock({ label, children }: { label: string; children: string }) {
  return (
    <pre className={`${classes.code} box break`} aria-label={label}>
      {children}
    </pre>
  )
}

/** A screen of stacked panels, which scrolls as a whole. `isNarrow`: for forms and text, not tables. */
export function PanelsScreen({ isNarrow = false, children }: { isNarrow?: boolean; children: ReactNode }) {
  return (
    <Stack gap={12} className={`${panelsScreenClasses.screen} grow`} data-narrow={isNarrow || undefined}>
      {children}
    </Stack>
  )
}

interface PaneHeadProps {
  /** Completes "Close …". */
  what: string
  children: ReactNode
  menu?: ReactNode
  onClose: () => void
}

export function PaneHead({ what, children, menu, onClose }: PaneHeadProps) {
  return (
    <Flex component="header" align="center" gap={8} className={paneHeadClasses.head}>
      {children}
      <Flex component="span" gap={8} className="fixed push">
        {menu}
        <Tooltip label={words.closeEsc}>
          <ActionIcon onClick={onClose} aria-label={words.closeNamed(what)}>
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </Flex>
    </Flex>
  )
}
