import type { JobId } from '../../shared/contract/index.ts'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type RouterHistory
} from '@tanstack/react-router'
import {
  parseAlertChannelsSearch,
  parseAlertReportSearch,
  parseAlertRulesSearch,
  parseAlertSilencesSearch,
  parseAlertsSearch,
  parseAuditSearch,
  parseAuthorizeSearch,
  parseCalendarSearch,
  parseChainsSearch,
  parseErrorsSearch,
  parseItemsSearch,
  parseJobsSearch,
  parseLoadSearch,
  parseLogSearchSearch,
  parseLogsSearch,
  parseNodesSearch,
  parseProjectsSearch,
  parseSchedulesSearch
} from '../state/search.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { EmptyState, ErrorState, RowsSkeleton } from '../ui/states.tsx'
import { formatAddress, parseAddress } from './address.ts'
import { Frame } from './frame.tsx'
import { loadPatiently } from './load-patiently.ts'
import { texts } from '../../shared/texts/ui/app.ts'

const root = createRootRoute({ component: Frame, notFoundComponent: () => <NotFound /> })

const screenAt = <Path extends string, Module extends Record<string, unknown>, Search = object>(
  path: Path,
  load: () => Promise<Module>,
  name: keyof Module & string,
  parseSearch?: (raw: Record<string, unknown>) => Search
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: parseSearch as (raw: Record<string, unknown>) => Partial<Search>,
    component: lazyRouteComponent(loadPatiently(load), name)
  })

/** The target of `scrapdeck://job/ID` and of short links. */
const job = createRoute({
  getParentRoute: () => root,
  path: '/job/$id',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/jobs', search: { job: params.id as JobId } })
  }
})

const routeTree = root.addChildren([
  job,
  screenAt('/', () => import('../features/overview/overview-screen.tsx'), 'OverviewScreen'),
  screenAt('/jobs', () => import('../features/jobs/jobs-screen.tsx'), 'JobsScreen', parseJobsSearch),
  screenAt('/queue', () => import('../features/queue/queue-screen.tsx'), 'QueueScreen'),
  screenAt(
    '/schedules',
    () => import('../features/schedules/schedules-screen.tsx'),
    'SchedulesScreen',
    parseSchedulesSearch
  ),
  screenAt('/schedules/missed', () => import('../features/schedules/missed/missed-screen.tsx'), 'MissedScreen'),
  screenAt(
    '/schedules/calendar',
    () => import('../features/schedules/calendar/calendar-screen.tsx'),
    'CalendarScreen',
    parseCalendarSearch
  ),
  screenAt(
    '/schedules/load',
    () => import('../features/schedules/load/load-screen.tsx'),
    'LoadScreen',
    parseLoadSearch
  ),
  screenAt(
    '/schedules/chains',
    () => import('../features/schedules/chains/chains-screen.tsx'),
    'ChainsScreen',
    parseChainsSearch
  ),
  screenAt(
    '/projects',
    () => import('../features/projects/projects-screen.tsx'),
    'ProjectsScreen',
    parseProjectsSearch
  ),
  screenAt('/nodes', () => import('../features/nodes/nodes-screen.tsx'), 'NodesScreen', parseNodesSearch),
  screenAt('/nodes/sources', () => import('../features/nodes/discovery/sources-screen.tsx'), 'SourcesScreen'),
  screenAt('/items', () => import('../features/items/items-screen.tsx'), 'ItemsScreen', parseItemsSearch),
  screenAt('/logs', () => import('../features/logs/logs-screen.tsx'), 'LogsScreen', parseLogsSearch),
  screenAt('/errors', () => import('../features/errors/errors-screen.tsx'), 'ErrorsScreen', parseErrorsSearch),
  screenAt('/alerts', () => import('../features/alerts/alerts-screen.tsx'), 'AlertsScreen', parseAlertsSearch),
  screenAt('/alerts/rules', () => import('../features/alerts/rules-screen.tsx'), 'RulesScreen', parseAlertRulesSearch),
  screenAt(
    '/alerts/silences',
    () => import('../features/alerts/silences-screen.tsx'),
    'SilencesScreen',
    parseAlertSilencesSearch
  ),
  screenAt(
    '/alerts/channels',
    () => import('../features/alerts/channels-screen.tsx'),
    'ChannelsScreen',
    parseAlertChannelsSearch
  ),
  screenAt(
    '/alerts/report',
    () => import('../features/alerts/report-screen.tsx'),
    'ReportScreen',
    parseAlertReportSearch
  ),
  screenAt('/running', () => import('../features/jobs/running-screen.tsx'), 'RunningScreen'),
  screenAt(
    '/logs/search',
    () => import('../features/logs/search/log-search-screen.tsx'),
    'LogSearchScreen',
    parseLogSearchSearch
  ),
  screenAt('/engines', () => import('../features/engines/engines-screen.tsx'), 'EnginesScreen'),
  screenAt('/audit', () => import('../features/audit/audit-screen.tsx'), 'AuditScreen', parseAuditSearch),
  screenAt('/access', () => import('../features/access/access-screen.tsx'), 'AccessScreen'),
  screenAt(
    '/authorize',
    () => import('../features/access/authorize-screen.tsx'),
    'AuthorizeScreen',
    parseAuthorizeSearch
  ),
  screenAt('/settings', () => import('./settings-screen.tsx'), 'SettingsScreen')
])

export function createAppRouter(history: RouterHistory) {
  return createRouter({
    routeTree,
    history,
    parseSearch: parseAddress,
    stringifySearch: formatAddress,
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingComponent: () => <RowsSkeleton />,
    defaultErrorComponent: ({ error, reset }) => <ErrorState what={texts.thisScreen} error={error} onRetry={reset} />
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}

function NotFound() {
  return (
    <EmptyState title={texts.pageNotFound} action={<LinkButton to="/">{texts.overview}</LinkButton>}>
      {texts.pageNotFoundHint}
    </EmptyState>
  )
}
