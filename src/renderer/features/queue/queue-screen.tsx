import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { formatCount, plural } from '../../ui/numbers.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { PanelsScreen } from '../../ui/panels-screen.tsx'
import { LimitsPanel } from './limits-panel.tsx'
import { LanesPanel } from './lanes-panel.tsx'
import { ProjectShares } from './project-shares.tsx'
import classes from './queue-screen.module.css'

/** What decides which job goes next (limits, shares of projects, pauses), and what the queue waits for. */
export function QueueScreen() {
  const { query } = useApi()
  const figures = useQuery(query.system.status.queryOptions()).data?.figures
  return (
    <PanelsScreen>
      <ScreenHead
        title="Queue"
        note={
          figures && (
            <>
              {figures.queued === 0
                ? 'no queued jobs'
                : `${plural(figures.queued, 'job')} wait${figures.queued === 1 ? 's' : ''}`}{' '}
              · {formatCount(figures.slotsUsed)} of {formatCount(figures.slotsTotal)} slots in use
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
