import { Group, Tooltip } from '@mantine/core'
import {
  IconActivity,
  IconBell,
  IconBox,
  IconBug,
  IconCalendarTime,
  IconHome,
  IconList,
  IconServer2,
  IconSettings,
  IconStack2,
  IconTerminal2
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../api/api.tsx'
import { SCREENS as ALL_SCREENS } from '../../shared/screens.ts'
import { useSeesNodesOnly } from '../api/use-me.ts'
import { useHasOperation } from '../state/remote-engines.ts'
import { formatCount } from '../ui/numbers.ts'
import classes from './frame.module.css'
import { Mark } from './mark.tsx'
import { texts } from '../../shared/texts/ui/app.ts'

type ScreenName = (typeof ALL_SCREENS)[number]['name']

const ICONS: Readonly<Record<ScreenName, typeof IconBox>> = {
  overview: IconHome,
  jobs: IconList,
  running: IconActivity,
  queue: IconStack2,
  schedules: IconCalendarTime,
  projects: IconBox,
  nodes: IconServer2,
  logs: IconTerminal2,
  errors: IconBug,
  alerts: IconBell
}

/** The operation without which an older engine does not have the screen. */
const NEEDS: Partial<Record<ScreenName, string>> = {
  schedules: 'schedules.list',
  errors: 'errors.list',
  alerts: 'alerts.list'
}

export const SCREENS = ALL_SCREENS.map(({ to, name }) => ({
  to,
  word: texts[name],
  Icon: ICONS[name],
  needs: NEEDS[name]
}))

export function useScreens() {
  const has = useHasOperation()
  const seesNodesOnly = useSeesNodesOnly()
  return SCREENS.filter(({ needs }) => needs === undefined || has(needs)).filter(
    ({ to }) => !seesNodesOnly || to === '/' || to === '/nodes'
  )
}

export function Rail() {
  const { query } = useApi()
  const screens = useScreens()
  const { data: status } = useQuery(query.system.status.queryOptions())
  const problems = status?.problems.length ?? 0
  const queued = status?.figures.queued ?? 0
  const badges: Record<string, ReactNode> = {
    '/': problems > 0 && (
      <span className={`${classes.badge} dim push`} data-bad title={texts.problems(problems)}>
        <span aria-hidden>{problems}</span>
        <span className="visually-hidden">{texts.problems(problems)}</span>
      </span>
    ),
    '/jobs': queued > 0 && (
      <span className={`${classes.badge} dim push`} title={texts.waitingJobs(queued)}>
        <span aria-hidden>{formatCount(queued)}</span>
        <span className="visually-hidden">{texts.waitingJobs(queued)}</span>
      </span>
    )
  }
  return (
    <nav className={classes.rail} aria-label={texts.screens}>
      <Group gap={9} wrap="nowrap" className={classes.brand}>
        <Mark />
        <span>{texts.scrapdeck}</span>
      </Group>
      {screens.map(({ to, word, Icon }) => (
        <RailLink key={to} to={to} word={word} icon={<Icon size={17} stroke={1.6} />}>
          {badges[to]}
        </RailLink>
      ))}
      <span className={`${classes.grow} grow`} />
      <RailLink to="/settings" word={texts.settings} icon={<IconSettings size={17} stroke={1.6} />} />
    </nav>
  )
}

interface RailLinkProps {
  to: (typeof SCREENS)[number]['to'] | '/settings'
  word: string
  icon: ReactNode
  children?: ReactNode
}

function RailLink({ to, word, icon, children }: RailLinkProps) {
  return (
    <Tooltip label={word} position="right" openDelay={400} classNames={{ tooltip: classes.railTip }}>
      <Link
        to={to}
        className={`${classes.railLink} dim`}
        data-bell={to === '/alerts' || undefined}
        activeProps={{ 'data-on': true }}
        activeOptions={{ exact: to === '/', includeSearch: false }}
      >
        {icon}
        <span className={classes.word}>{word}</span>
        {children}
      </Link>
    </Tooltip>
  )
}
