/** The screens, in the order of the rail, the digit keys and the menu. `name`: of the text in texts/ui/common.ts. */
export const SCREENS = [
  { to: '/', name: 'overview' },
  { to: '/jobs', name: 'jobs' },
  { to: '/running', name: 'running' },
  { to: '/queue', name: 'queue' },
  { to: '/schedules', name: 'schedules' },
  { to: '/projects', name: 'projects' },
  { to: '/nodes', name: 'nodes' },
  { to: '/logs', name: 'logs' },
  { to: '/errors', name: 'errors' },
  { to: '/alerts', name: 'alerts' }
] as const
