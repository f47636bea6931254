import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type RouterHistory
} from '@tanstack/react-router'
import {
  parseCalendarSearch,
  parseChainsSearch,
  parseJobsSearch,
  parseLoadSearch,
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

const root = createRootRoute({ component: Frame, notFoundComponent: () => <NotFound /> })

// Each screen is a file of its own, loaded when it is first shown.
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/overview/overview-screen.tsx')),
    'OverviewScreen'
  )
})
const jobs = createRoute({
  getParentRoute: () => root,
  path: '/jobs',
  validateSearch: parseJobsSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/jobs/jobs-screen.tsx')),
    'JobsScreen'
  )
})
/** Where `scrapdeck://job/ID` and short links lead. */
const job = createRoute({
  getParentRoute: () => root,
  path: '/job/$id',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/jobs', search: { job: params.id } })
  }
})
const queue = createRoute({
  getParentRoute: () => root,
  path: '/queue',
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/queue/queue-screen.tsx')),
    'QueueScreen'
  )
})
const schedules = createRoute({
  getParentRoute: () => root,
  path: '/schedules',
  validateSearch: parseSchedulesSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/schedules/schedules-screen.tsx')),
    'SchedulesScreen'
  )
})
const projects = createRoute({
  getParentRoute: () => root,
  path: '/projects',
  validateSearch: parseProjectsSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/projects/projects-screen.tsx')),
    'ProjectsScreen'
  )
})
const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  validateSearch: parseNodesSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/nodes/nodes-screen.tsx')),
    'NodesScreen'
  )
})
const sources = createRoute({
  getParentRoute: () => root,
  path: '/nodes/sources',
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/nodes/discovery/sources-screen.tsx')),
    'SourcesScreen'
  )
})
const missed = createRoute({
  getParentRoute: () => root,
  path: '/schedules/missed',
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/schedules/missed/missed-screen.tsx')),
    'MissedScreen'
  )
})
const calendar = createRoute({
  getParentRoute: () => root,
  path: '/schedules/calendar',
  validateSearch: parseCalendarSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/schedules/calendar/calendar-screen.tsx')),
    'CalendarScreen'
  )
})
const load = createRoute({
  getParentRoute: () => root,
  path: '/schedules/load',
  validateSearch: parseLoadSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/schedules/load/load-screen.tsx')),
    'LoadScreen'
  )
})
const chains = createRoute({
  getParentRoute: () => root,
  path: '/schedules/chains',
  validateSearch: parseChainsSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/schedules/chains/chains-screen.tsx')),
    'ChainsScreen'
  )
})
const logs = createRoute({
  getParentRoute: () => root,
  path: '/logs',
  validateSearch: parseLogsSearch,
  component: lazyRouteComponent(
    loadPatiently(() => import('../features/logs/logs-screen.tsx')),
    'LogsScreen'
  )
})
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(
    loadPatiently(() => import('./settings-screen.tsx')),
    'SettingsScreen'
  )
})

const routeTree = root.addChildren([
  overview,
  jobs,
  job,
  queue,
  schedules,
  missed,
  projects,
  nodes,
  sources,
  calendar,
  load,
  chains,
  logs,
  settings
])

export function createAppRouter(history: RouterHistory) {
  return createRouter({
    routeTree,
    history,
    parseSearch: parseAddress,
    stringifySearch: formatAddress,
    // A pointer over a link is enough of a sign to fetch the code of its screen.
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingComponent: () => <RowsSkeleton />,
    defaultErrorComponent: ({ error, reset }) => <ErrorState what="this screen" error={error} onRetry={reset} />
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}

function NotFound() {
  return (
    <EmptyState title="Page not found" action={<LinkButton to="/">Overview</LinkButton>}>
      The address may be incomplete or from an older version of Scrapdeck.
    </EmptyState>
  )
}
