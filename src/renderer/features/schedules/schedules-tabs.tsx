import { Link } from '@tanstack/react-router'
import classes from './schedules-tabs.module.css'

const VIEWS = [
  { to: '/schedules', word: 'List' },
  { to: '/schedules/missed', word: 'Missed' },
  { to: '/schedules/calendar', word: 'Calendar' },
  { to: '/schedules/load', word: 'Load' },
  { to: '/schedules/chains', word: 'Chains' }
] as const

/** The views of the schedules screen, after its title. */
export function SchedulesTabs() {
  return (
    <nav className={classes.tabs} aria-label="Views of schedules">
      {VIEWS.map(({ to, word }) => (
        <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }} activeProps={{ 'data-on': true }}>
          {word}
        </Link>
      ))}
    </nav>
  )
}
