import type { AlertReport } from '../../shared/contract/index.ts'
import { formatBytes } from '../../shared/format-bytes.ts'
import { formatDuration } from '../../shared/time.ts'
import { localTime, plural, table } from '../client/output.ts'

/** The report of a day or a week, as text. */
export function describeReport(report: AlertReport): string {
  const { fromMs, untilMs, runs, runsBefore, failing, newErrors, unusual, slowest, service, isComplete } = report
  const lists = [
    table(
      ['failing spider', 'failed', 'runs', 'last reason'],
      failing.map((one) => [nameOf(one), one.failed, one.runs, one.reason]),
      'No run failed or was lost.'
    ),
    table(
      [
        newErrors.count > newErrors.groups.length ? `new errors (${newErrors.count}) of` : 'new error of',
        'runs',
        'what'
      ],
      newErrors.groups.map(({ project, runs: count, title }) => [project, count, title]),
      'No new errors.'
    ),
    table(
      ['unlike earlier runs', 'what'],
      unusual.map((one) => [nameOf(one), one.text]),
      'Every run that succeeded was like earlier ones of its spider.'
    ),
    table(
      ['slowest spider', 'runs', 'median', 'longest'],
      slowest.map((one) => [nameOf(one), one.runs, lengthOf(one.medianMs), lengthOf(one.longestMs)]),
      'No run ended.'
    )
  ]
  return [
    `Report of ${localTime(fromMs)} to ${localTime(untilMs)}`,
    table(['', 'runs', ...OUTCOMES], [countsOf('now', runs), countsOf('before', runsBefore)], ''),
    ...lists,
    ...(isComplete ? [] : ['There were too many jobs to look at all of them: the lists of spiders are not complete.']),
    ...(service === null ? [] : [describeService(service)])
  ].join('\n\n')
}

const OUTCOMES = ['succeeded', 'failed', 'lost', 'unclear', 'cancelled'] as const

const nameOf = ({ project, spider }: { project: string; spider: string }): string => `${project}/${spider}`
const lengthOf = (durationMs: number): string => formatDuration(Math.round(durationMs / 1_000))

function countsOf(when: string, runs: AlertReport['runs']): (string | number)[] {
  const counts = OUTCOMES.map((outcome) => runs[outcome])
  return [when, counts.reduce((sum, count) => sum + count, 0), ...counts]
}

function describeService(service: NonNullable<AlertReport['service']>): string {
  const { alertsFired, nodes, nodesDown, queued, databaseBytes, logBytes, diskFreePercent } = service
  const down = nodesDown.length === 0 ? 'none down' : `${nodesDown.length} down: ${nodesDown.join(', ')}`
  const free = diskFreePercent === null ? '' : ` · disk: ${diskFreePercent} % free`
  return [
    `Alerts: ${alertsFired} fired · nodes: ${nodes}, ${down} · queue: ${plural(queued, 'job')} waiting`,
    `Database: ${formatBytes(databaseBytes)} · logs: ${formatBytes(logBytes)}${free}`
  ].join('\n')
}
