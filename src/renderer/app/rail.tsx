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
import { useSeesNodesOnly } from '../api/use-me.ts'
import { useHasOperation } from '../state/remote-engines.ts'
import { formatCount } from '../ui/numbers.ts'
import classes from './frame.module.css'
import { Mark } from './mark.tsx'
import { texts } from '../../shared/texts/ui/app.ts'

export const SCREENS = [
  { to: '/', word: texts.overview, Icon: IconHome },
  { to: '/jobs', word: texts.jobs, Icon: IconList },
  { to: '/running', word: texts.running, Icon: IconActivity },
  { to: '/queue', word: texts.queue, Icon: IconStack2 },
  { to: '/schedules', word: texts.schedules, Icon: IconCalendarTime, needs: 'schedules.list' },
  { to: '/projects', word: texts.projects, Icon: IconBox },
  { to: '/nodes', word: texts.nodes, Icon: IconServer2 },
  { to: '/logs', word: texts.logs, Icon: IconTerminal2 },
  { to: '/errors', word: texts.errors, Icon: IconBug, needs: 'errors.list' },
  { to: '/alerts', word: texts.alerts, Icon: IconBell, needs: 'alerts.list' }
] as const satisfies { to: string; word: string; Icon: typeof IconBox; needs?: string }[]

export function useScreens() {
  const has = useHasOperation()
  const seesNodesOnly = useSeesNodesOnly()
  return SCREENS.filter((screen) => !('needs' in screen) || has(screen.needs)).filter(
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
