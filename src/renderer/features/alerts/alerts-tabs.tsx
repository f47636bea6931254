import { ViewTabs } from '../../ui/view-tabs.tsx'

const VIEWS = [
  { to: '/alerts', word: 'Alerts' },
  { to: '/alerts/rules', word: 'Rules' },
  { to: '/alerts/silences', word: 'Silences' },
  { to: '/alerts/channels', word: 'Channels' }
] as const

/** The views of the alerts screen, after its title. */
export const AlertsTabs = () => <ViewTabs of="alerts" views={VIEWS} />
