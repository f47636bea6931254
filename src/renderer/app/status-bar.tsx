import { IconCircleFilled, IconPlugConnectedX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { formatAge } from '../../shared/time.ts'
import { useApi } from '../api/api.tsx'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { useConnection } from '../state/connection.ts'
import { useNow } from '../ui/clock.ts'
import { formatCount } from '../ui/numbers.ts'
import { splitSlots } from '../ui/slots-in-use.ts'
import classes from './frame.module.css'

/** The engine's status at a glance. While the connection is down the figures are outdated, and look so. */
export function StatusBar() {
  const { query } = useApi()
  const { data: status } = useQuery(query.system.status.queryOptions())
  const live = useConnection(({ state }) => state === 'live')
  const figures = status?.figures
  const slots = figures && splitSlots(figures.slotsUsed, figures.slotsTotal)
  return (
    <footer className={classes.bar} aria-label="Status">
      {figures && (
        <span className={classes.figures} data-stale={!live || undefined}>
          <span title={slots?.hint}>
            Slots{' '}
            <b>
              {formatCount(slots?.inUse ?? 0)}/{formatCount(figures.slotsTotal)}
            </b>{' '}
            {slots?.over}
          </span>
          <span>
            Queue <b>{formatCount(figures.queued)}</b>
          </span>
          <span>
            <b>{formatCount(Math.round(figures.jobsPerMinute))}</b> jobs/min
          </span>
          <span title="Event loop delay of the engine, 99th percentile">
            Loop <b className={figures.loopP99Ms > 50 ? 'tone-wait' : undefined}>{Math.round(figures.loopP99Ms)} ms</b>
          </span>
        </span>
      )}
      <ConnectionState />
    </footer>
  )
}

function ConnectionState() {
  const { state, sinceMs } = useConnection()
  if (state === 'live') {
    return (
      <span className={classes.connection} role="status">
        <IconCircleFilled size={8} className="tone-ok" aria-hidden /> Live
      </span>
    )
  }
  return (
    <span className={`${classes.connection} tone-wait`} role="status">
      <IconPlugConnectedX size={13} aria-hidden />
      {state === 'connecting' ? 'Connecting…' : <Reconnecting sinceMs={sinceMs} />}
    </span>
  )
}

function Reconnecting({ sinceMs }: { sinceMs: number }) {
  const nowMs = useNow()
  // Of a remote engine, it may be from before this page.
  const asOfMs = useRemoteEngines(({ current }) => current?.asOfMs ?? null)
  return <>Reconnecting · data is {formatAge(nowMs - Math.min(sinceMs, asOfMs ?? sinceMs))} old</>
}
