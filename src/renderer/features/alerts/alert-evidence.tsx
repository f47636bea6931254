import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Alert, AlertFigureHistory, AlertLogExcerpt } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useHasOperation } from '../../state/remote-engines.ts'
import { BarChart } from '../../ui/charts/bar-chart.tsx'
import { LogLines } from '../../ui/log-lines.tsx'
import { SEVERITY_LOOK } from '../../ui/severity.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './alerts.module.css'

/** How the figure of an alert has been, and the end of the log of its run; nothing if there is neither. */
export function AlertEvidence({ alert }: { alert: Alert }) {
  const has = useHasOperation()
  // An alert that goes on with the next run has other evidence then.
  return has('alerts.evidence') ? <Shown key={`${alert.id} ${alert.labels.jobId}`} alert={alert} /> : null
}

function Shown({ alert: { id, severity } }: { alert: Alert }) {
  const { query } = useApi()
  const read = useQuery(query.alerts.evidence.queryOptions({ input: { id }, staleTime: 0 }))
  return (
    <QueryState query={read} what="what it is based on" rows={3}>
      {({ log, history }) => (
        <>
          {history !== null && <History history={history} severity={severity} />}
          {log !== null && <LastLines log={log} />}
        </>
      )}
    </QueryState>
  )
}

function History({ history: { bars, ...rest }, severity }: { history: AlertFigureHistory } & Pick<Alert, 'severity'>) {
  const tones = { past: 'off', now: SEVERITY_LOOK[severity].tone, failed: 'bad', succeeded: 'ok' } as const
  return <BarChart {...rest} bars={bars.map(({ value, tone }) => ({ value, tone: tones[tone] }))} />
}

function LastLines({ log: { subject, jobId, lines } }: { log: AlertLogExcerpt }) {
  const title = `Last lines of the log of ${subject}`
  return (
    <section className={classes.log}>
      <header>
        <h3>{title}</h3>
        <Link to="/logs" search={{ jobs: [jobId], job: jobId }}>
          Open log
        </Link>
      </header>
      <LogLines label={title} lines={lines} maxHeight={220} />
    </section>
  )
}
