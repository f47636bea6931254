import { ViewTabs } from '../../ui/view-tabs.tsx'
import { texts } from '../../../shared/texts/ui/schedules.ts'

const VIEWS = [
  { to: '/schedules', word: texts.list },
  { to: '/schedules/missed', word: texts.missed },
  { to: '/schedules/calendar', word: texts.calendar },
  { to: '/schedules/load', word: texts.load },
  { to: '/schedules/chains', word: texts.chains }
] as const

export const SchedulesTabs = () => <ViewTabs of={texts.viewsOfSchedules} views={VIEWS} />
