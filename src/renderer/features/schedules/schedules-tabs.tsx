import { ViewTabs } from '../../ui/view-tabs.tsx'

const VIEWS = [
  { to: '/schedules', word: 'List' },
  { to: '/schedules/missed', word: 'Missed' },
  { to: '/schedules/calendar', word: 'Calendar' },
  { to: '/schedules/load', word: 'Load' },
  { to: '/schedules/chains', word: 'Chains' }
] as const

/** The views of the schedules screen, after its title. */
export const SchedulesTabs = () => <ViewTabs of="schedules" views={VIEWS} />
