import type { AlertReport, Outcome, SpiderFindings } from '../../../../shared/contract/index.ts'
import { type Message, plain, written } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskSample } from '../../../maintenance/retention/disk.ts'
import { type StorageSums, type StoredErrorGroup, whyFailed } from '../../../model/records.ts'
import { wordsOf } from '../../expectations/expectations.ts'
import type { PastJob } from '../past/events-of-jobs.ts'
import { isAway } from '../../../../shared/node-health.ts'

export interface DigestInput {
  fromMs: number
  untilMs: number
  /** Jobs that ended since `fromMs`. `endedWithBefore` also includes the previous period of the same length. */
  ended: Record<Outcome, number>
  endedWithBefore: Record<Outcome, number>
  jobs: readonly PastJob[]
  errors: readonly StoredErrorGroup[]
  findings: readonly SpiderFindings[]
  /** null: the user may not see all projects. */
  service: {
    alertsFired: number
    nodes: readonly FleetNode[]
    queued: number
    sums: StorageSums
    disk: DiskSample | null
  } | null
  isComplete: boolean
}

const LISTED_MAX = 20
const SLOWEST_MAX = 10
const DOWN_MAX = 100
const TEXT_MAX = 300

export function digestOf(input: DigestInput): AlertReport {
  const { fromMs, untilMs, ended, endedWithBefore, errors, findings, isComplete } = input
  const spiders = bySpider(input.jobs.filter((job) => isWithin(job.endedAtMs, input)))
  return {
    fromMs,
    untilMs,
    isComplete,
    runs: countsOf(ended),
    runsBefore: countsOf(endedWithBefore, ended),
    failing: failingOf(spiders),
    newErrors: {
      count: errors.length,
      groups: errors
        .toSorted((one, other) => other.jobCount - one.jobCount)
        .slice(0, LISTED_MAX)
        .map(({ id, project, title, jobCount }) => ({ id, project, title: cut(title), runs: jobCount }))
    },
    unusual: findings
      .filter(({ endedAtMs }) => isWithin(endedAtMs, input))
      .toSorted((one, other) => other.endedAtMs - one.endedAtMs)
      .slice(0, LISTED_MAX)
      .map(({ project, spider, findings: found }) => ({
        project,
        spider,
        ...writtenShort(wordsOf(found))
      })),
    slowest: slowestOf(spiders),
    service: serviceOf(input.service)
  }
}

const isWithin = (atMs: number | null, { fromMs, untilMs }: DigestInput): boolean =>
  atMs !== null && atMs >= fromMs && atMs <= untilMs

function countsOf(all: Record<Outcome, number>, without?: Record<Outcome, number>): AlertReport['runs'] {
  const count = (outcome: Outcome) => Math.max(0, all[outcome] - (without?.[outcome] ?? 0))
  return {
    succeeded: count('succeeded'),
    failed: count('failed'),
    lost: count('lost'),
    cancelled: count('cancelled'),
    unclear: count('unclear')
  }
}

const bySpider = (jobs: readonly PastJob[]): PastJob[][] => [
  ...Map.groupBy(jobs, ({ project, spider }) => `${project}/${spider}`).values()
]

function failingOf(spiders: PastJob[][]): AlertReport['failing'] {
  return spiders
    .map((jobs) => ({ jobs, failures: jobs.filter(({ outcome }) => outcome === 'failed' || outcome === 'lost') }))
    .filter(({ failures }) => failures.length > 0)
    .sort((one, other) => other.failures.length - one.failures.length)
    .slice(0, LISTED_MAX)
    .map(({ jobs, failures }) => {
      const newest = failures.reduce((one, other) => (one.endedAtMs! >= other.endedAtMs! ? one : other))
      const { project, spider } = newest
      const { text: reason, code: reasonCode, params: reasonParams } = writtenShort(whyFailed(newest))
      return { project, spider, failed: failures.length, runs: jobs.length, reason, reasonCode, reasonParams }
    })
}

function slowestOf(spiders: PastJob[][]): AlertReport['slowest'] {
  return spiders
    .flatMap((jobs) => {
      const durations = jobs
        .filter(({ startedAtMs, outcome }) => startedAtMs !== null && outcome !== 'cancelled')
        .map(({ startedAtMs, endedAtMs }) => Math.max(0, endedAtMs! - startedAtMs!))
        .sort((one, other) => one - other)
      const { project, spider } = jobs[0]!
      if (durations.length === 0) return []
      const medianMs = durations[Math.floor((durations.length - 1) / 2)]!
      return [{ project, spider, runs: durations.length, medianMs, longestMs: durations.at(-1)! }]
    })
    .sort((one, other) => other.medianMs - one.medianMs)
    .slice(0, SLOWEST_MAX)
}

function serviceOf(service: DigestInput['service']): AlertReport['service'] {
  if (service === null) return null
  const { alertsFired, nodes, queued, sums, disk } = service
  const away = nodes.filter(({ status }) => isAway(status.health))
  return {
    alertsFired,
    queued,
    nodes: nodes.length,
    nodesDown: away.slice(0, DOWN_MAX).map(({ stored }) => stored.name),
    databaseBytes: sums.database.bytes,
    logBytes: sums.logs.reduce((bytes, log) => bytes + log.bytes, 0),
    diskFreePercent:
      disk === null || disk.totalBytes === 0 ? null : Math.floor((1_000 * disk.freeBytes) / disk.totalBytes) / 10
  }
}

function writtenShort(message: Message): ReturnType<typeof written> {
  const { text, ...said } = written(message)
  return said.code === 'text' ? written(plain(cut(text))) : { text: cut(text), ...said }
}

const cut = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text)
