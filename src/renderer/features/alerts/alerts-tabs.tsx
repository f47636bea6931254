import { useHasOperation } from '../../state/remote-engines.ts'
import { ViewTabs } from '../../ui/view-tabs.tsx'

const VIEWS = [
  { to: '/alerts', word: 'Alerts' },
  { to: '/alerts/rules', word: 'Rules' },
  { to: '/alerts/silences', word: 'Silences' },
  { to: '/alerts/channels', word: 'Channels' },
  { to: '/alerts/report', word: 'Report' }
] as const

/** The views of the alerts screen, after its title. */
export function AlertsTabs() {
  const has = useHasOperation()
  return <ViewTabs of="alerts" views={VIEWS.filter(({ word }) => word !== 'Report' || has('alerts.report'))} />
}
