import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import type { JobExpectations as Expectations, JobId, RunMetric } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { formatCount } from '../../ui/numbers.ts'
import classes from './job-detail-pane.module.css'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const useExpectations = (jobId: JobId) => {
  const api = useApi()
  return useQuery(api.query.findings.ofJob.queryOptions({ input: { id: jobId } })).data
}

export function JobFindings({ jobId }: { jobId: JobId }) {
  const findings = useExpectations(jobId)?.findings ?? []
  if (findings.length === 0) return null
  return (
    <p className="notice-lost">
      <strong>{texts.unusualRun}</strong> {findings.map(({ words }) => words).join('; ')}.
    </p>
  )
}

const LABELS: Record<RunMetric, string> = {
  items: texts.items,
  pages: texts.pages,
  runtime: texts.runtime,
  errors: texts.errorsPer100Pages,
  field: texts.field
}
const WEEKDAYS = [
  texts.sundays,
  texts.mondays,
  texts.tuesdays,
  texts.wednesdays,
  texts.thursdays,
  texts.fridays,
  texts.saturdays
]

export function JobExpectations({ jobId }: { jobId: JobId }) {
  const data = useExpectations(jobId)
  if (data === undefined || data.state === 'off' || data.state === 'not_succeeded') return null
  return (
    <section>
      <h2 className={classes.sectionTitle}>{texts.comparedWithEarlierRuns}</h2>
      {data.state === 'learning' ? (
        <p className="dim">{texts.learningHint(data.neededRuns)}</p>
      ) : (
        <Metrics data={data} />
      )}
    </section>
  )
}

function Metrics({ data: { metrics, fields, findings, comparedRuns, weekday } }: { data: Expectations }) {
  const isUnusual = (metric: RunMetric) => findings.some((finding) => finding.metric === metric)
  return (
    <>
      <p className="dim">
        {weekday === null
          ? texts.usualRangeHint(comparedRuns)
          : texts.usualWeekdayRangeHint(comparedRuns, WEEKDAYS[weekday]!)}
      </p>
      <table className={classes.table}>
        <tbody>
          {metrics.map(({ metric, value, usual }) => (
            <tr key={metric}>
              <th scope="row">{LABELS[metric]}</th>
              <td className={isUnusual(metric) ? 'tone-wait' : undefined}>
                {value === null ? '–' : show(metric, value)}
              </td>
              <td className="dim nowrap">{rangeOf((value) => show(metric, value), usual)}</td>
            </tr>
          ))}
          {findings
            .filter(({ metric }) => metric === 'field')
            .map(({ field, value, usual }) => (
              <tr key={`field ${field}`}>
                <th scope="row">{texts.itemsWithField(showUnseen(field ?? ''))}</th>
                <td className="tone-wait">{percentage(value)}</td>
                <td className="dim nowrap">{rangeOf(percentage, usual)}</td>
              </tr>
            ))}
        </tbody>
      </table>
      {fields !== null && <p className="dim">{wordsOfFields(fields, findings)}</p>}
    </>
  )
}

function wordsOfFields(fields: NonNullable<Expectations['fields']>, findings: Expectations['findings']): string {
  const { neededRuns, comparedRuns, shown } = fields
  if (neededRuns > 0) return texts.fieldsNotCompared(neededRuns)
  const count = shown.length - findings.filter(({ metric }) => metric === 'field').length
  return texts.fieldsAsUsual(count, comparedRuns)
}

const percentage = (value: number): string => `${Math.round(value)} %`

function rangeOf(show: (value: number) => string, { low, high }: { low: number; high: number }): string {
  const [from, to] = [show(low), show(high)]
  return from === to ? texts.usualValue(from) : texts.usualRange(from, to)
}

function show(metric: RunMetric, value: number): string {
  if (metric === 'runtime') return formatDuration(Math.round(value))
  return formatCount(metric === 'errors' ? Math.round(value * 10) / 10 : Math.round(value))
}
