import { useHasOperation } from '../../state/remote-engines.ts'
import { ViewTabs } from '../../ui/view-tabs.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const VIEWS = [
  { to: '/alerts', word: texts.alerts },
  { to: '/alerts/rules', word: texts.rules },
  { to: '/alerts/silences', word: texts.silences },
  { to: '/alerts/channels', word: texts.channels },
  { to: '/alerts/report', word: texts.report }
] as const

export function AlertsTabs() {
  const has = useHasOperation()
  return (
    <ViewTabs
      of={texts.viewsOfAlerts}
      views={VIEWS.filter(({ to }) => to !== '/alerts/report' || has('alerts.report'))}
    />
  )
}
