import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { useConnection } from '../../state/connection.ts'
import { useNow } from '../../ui/clock.ts'
import { formatMoment } from '../../ui/moment.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { FigureCards } from './figure-cards.tsx'
import { FirstRun, useIsFirstRun } from './first-run.tsx'
import { FleetMap } from './fleet-map.tsx'
import { LatestFailures } from './latest-failures.tsx'
import classes from './overview-screen.module.css'
import { NewErrors } from './new-errors.tsx'
import { Problems } from './problems.tsx'

export function OverviewScreen() {
  const { query } = useApi()
  const status = useQuery(query.system.status.queryOptions())
  const nodes = useQuery(query.nodes.list.queryOptions())
  const firstRun = useIsFirstRun()
  return (
    <div className={classes.screen}>
      <ScreenHead title="Overview" note={<AsOf />} />
      {firstRun && status.data && <FirstRun python={status.data.python} />}
      <QueryState query={status} what="the state of the engine" rows={4}>
        {({ figures, problems }) => (
          <>
            <FigureCards figures={figures} />
            {!(firstRun && problems.every(({ mend }) => mend === 'create_environment')) && (
              <Problems problems={problems} />
            )}
          </>
        )}
      </QueryState>
      <QueryState query={nodes} what="the nodes" rows={4}>
        {(data) => <FleetMap nodes={data.nodes} />}
      </QueryState>
      <NewErrors />
      <LatestFailures />
    </div>
  )
}

function AsOf() {
  const nowMs = useNow()
  const { state, sinceMs } = useConnection()
  return (
    <>
      {state === 'live'
        ? `live · ${new Date(nowMs).toLocaleTimeString('en-GB')}`
        : `as of ${formatMoment(sinceMs, nowMs)}`}
    </>
  )
}
