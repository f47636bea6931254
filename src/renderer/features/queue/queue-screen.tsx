import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { formatCount, plural } from '../../ui/numbers.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { PanelsScreen } from '../../ui/panels-screen.tsx'
import { splitSlots } from '../../ui/slots-in-use.ts'
import { LimitsPanel } from './limits-panel.tsx'
import { LanesPanel } from './lanes-panel.tsx'
import { ProjectShares } from './project-shares.tsx'
import classes from './queue-screen.module.css'

/** What decides which job goes next (limits, shares of projects, pauses), and what the queue waits for. */
export function QueueScreen() {
  const { query } = useApi()
  const figures = useQuery(query.system.status.queryOptions()).data?.figures
  const slots = figures && splitSlots(figures.slotsUsed, figures.slotsTotal)
  return (
    <PanelsScreen>
      <ScreenHead
        title="Queue"
        note={
          slots && (
            <>
              {figures.queued === 0
                ? 'no queued jobs'
                : `${plural(figures.queued, 'job')} wait${figures.queued === 1 ? 's' : ''}`}{' '}
              · {formatCount(slots.inUse)} of {formatCount(figures.slotsTotal)} slots in use
              {slots.over !== null && `, ${slots.over} queued on nodes`}
              {figures.paused && ' · paused'}
            </>
          )
        }
      />
      <div className={classes.columns}>
        <div className={classes.column}>
          <LanesPanel queued={figures?.queued ?? null} />
          <LimitsPanel />
        </div>
        <ProjectShares />
      </div>
    </PanelsScreen>
  )
}
