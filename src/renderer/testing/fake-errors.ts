import { implement } from '@orpc/server'
import {
  AttemptNumber,
  contract,
  type ErrorGroup,
  type ErrorOccurrence,
  ErrorGroupId,
  type Job
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { fakeLogLine } from './fake-fleet.ts'
import { aVersionName } from '../../shared/testing/ids.ts'
import type { FakeWorld } from './fake-world.ts'

const HOUR_MS = 3_600_000
const WIDTH_MS = 6 * HOUR_MS
const POINTS = 28

/** The index of the first ERROR line in a fake log; all earlier records have one line. */
const FIRST_ERROR = 40

const KINDS = [
  ['KeyError: <text>', 'prices/spiders/listing.py in parse_item', 'KeyError', 'frames'],
  ['ValueError: could not convert string to float: <text>', 'prices/money.py in to_number', 'ValueError', 'frames'],
  ['TimeoutError: User timeout caused connection failure', 'scrapy.core.scraper', 'TimeoutError', 'exception'],
  [
    'AttributeError: <text> object has no attribute <text>',
    'news/spiders/base.py in parse',
    'AttributeError',
    'frames'
  ],
  ['Error downloading <url>', 'scrapy.core.scraper', null, 'message'],
  ['JSONDecodeError: Expecting value: line <n> column <n>', 'maps/api.py in decode', 'JSONDecodeError', 'frames'],
  ['Gave up retrying <url> (failed <n> times)', 'scrapy.downloadermiddlewares.retry', null, 'message']
] as const

/** Errors of the fake failed jobs. Each project has one group per kind of error. */
export function createFakeErrors({ jobs, jobOf, emit }: FakeWorld) {
  const os = implement(contract)
  const states = new Map<number, Pick<ErrorGroup, 'state' | 'stateAtMs' | 'reopenedAtMs'>>()

  const withErrors = () => [...jobs.values()].filter((job) => (job.errors ?? 0) > 0 && job.startedAtMs !== null)
  const kindOf = ({ spider }: Job) =>
    Array.from({ length: spider.length }, (_, at) => spider.charCodeAt(at)).reduce((sum, code) => sum + code, 0) %
    KINDS.length
  const idsOfProjects = () => [...new Set([...jobs.values()].map(({ project }) => project))].toSorted()
  const idOf = (job: Job) => ErrorGroupId.parse(1 + idsOfProjects().indexOf(job.project) * KINDS.length + kindOf(job))

  function occurrenceOf(job: Job): ErrorOccurrence {
    const atMs = job.endedAtMs ?? Math.max(job.startedAtMs! + 1_000, Date.now() - (job.rank % 50) * 40_000)
    const before = Array.from({ length: FIRST_ERROR }, (_, index) => fakeLogLine(job, index)).join('')
    return {
      jobId: job.id,
      attemptNumber: AttemptNumber.parse(1),
      spider: job.spider,
      nodeId: job.nodeId!,
      version: job.sentVersion ?? job.version ?? aVersionName('1'),
      count: job.errors ?? 1,
      firstSeenMs: Math.min(atMs, job.startedAtMs! + 1_000),
      lastSeenMs: atMs,
      line: FIRST_ERROR + 1,
      offset: before.length,
      message: `Spider error processing <GET https://shop.example.com/p/${job.id.slice(-4)}> (referer: None)`
    }
  }

  function groupOf(id: number, all: readonly Job[]): ErrorGroup {
    const [title, culprit, exceptionType, because] = KINDS[kindOf(all[0]!)]!
    const seen = all.map(occurrenceOf).sort((one, other) => one.firstSeenMs - other.firstSeenMs)
    const startMs = (Math.floor(Date.now() / WIDTH_MS) - POINTS + 1) * WIDTH_MS
    // Two thirds of the errors were already seen for days before the fake jobs. The others are new.
    const counts = Array.from({ length: POINTS }, (_, point) => (id % 3 === 0 ? 0 : (point * id * 7) % 11))
    for (const { lastSeenMs, count } of seen) {
      const point = Math.floor((lastSeenMs - startMs) / WIDTH_MS)
      if (point >= 0 && point < POINTS) counts[point]! += count
    }
    const different = (values: readonly string[]) => new Set(values).size
    return {
      id: ErrorGroupId.parse(id),
      project: all[0]!.project,
      title,
      culprit,
      exceptionType,
      because,
      ...(states.get(id) ?? { state: 'open', stateAtMs: null, reopenedAtMs: null }),
      firstSeenMs: seen[0]!.firstSeenMs - (id % 3) * 250_000_000,
      lastSeenMs: Math.max(...seen.map((each) => each.lastSeenMs)),
      firstVersion: seen[0]!.version,
      count: seen.reduce((sum, { count }) => sum + count, 0),
      jobCount: all.length,
      spiderCount: different(seen.map(({ spider }) => spider)),
      versionCount: different(seen.map(({ version }) => version)),
      nodeCount: different(seen.map(({ nodeId }) => nodeId)),
      spiders: [...new Set(seen.map(({ spider }) => spider))].slice(0, 3),
      series: { startMs, widthMs: WIDTH_MS, counts }
    }
  }

  function spreadBy(seen: readonly ErrorOccurrence[], valueOf: (one: ErrorOccurrence) => string) {
    return [...Map.groupBy(seen, valueOf)]
      .map(([value, those]) => ({
        value,
        count: those.reduce((sum, { count }) => sum + count, 0),
        runCount: those.length,
        firstSeenMs: Math.min(...those.map(({ firstSeenMs }) => firstSeenMs)),
        lastSeenMs: Math.max(...those.map(({ lastSeenMs }) => lastSeenMs))
      }))
      .sort((one, other) => other.count - one.count)
  }

  const grouped = () => Map.groupBy(withErrors(), idOf)
  return {
    list: os.errors.list.handler(({ input }) => {
      const { state, project, spider, version, firstVersion, nodeId, text = '', limit = 100 } = input
      const groups = [...grouped()]
        .filter(([, all]) => {
          const seen = all.map(occurrenceOf)
          return (
            (spider === undefined || seen.some((one) => one.spider === spider)) &&
            (version === undefined || seen.some((one) => one.version === version)) &&
            (nodeId === undefined || seen.some((one) => one.nodeId === nodeId))
          )
        })
        .map(([id, all]) => groupOf(id, all))
        .filter((group) => state === undefined || group.state === state)
        .filter((group) => project === undefined || group.project === project)
        .filter((group) => firstVersion === undefined || group.firstVersion === firstVersion)
        .filter(({ title, culprit }) => `${title}\n${culprit}`.toLowerCase().includes(text.toLowerCase()))
        .sort((one, other) => other.lastSeenMs - one.lastSeenMs)
      return { groups: groups.slice(0, limit), nextBefore: null }
    }),
    get: os.errors.get.handler(({ input }) => {
      const all = grouped().get(ErrorGroupId.parse(input.id))
      if (all === undefined) throw new ScrapdeckError('ERROR_GROUP_NOT_FOUND', `There is no error group ${input.id}.`)
      const seen = all.map(occurrenceOf).sort((one, other) => other.lastSeenMs - one.lastSeenMs)
      return {
        group: groupOf(Number(input.id), all),
        occurrences: seen.slice(0, 50),
        spiders: spreadBy(seen, ({ spider }) => spider),
        versions: spreadBy(seen, ({ version }) => version),
        nodes: spreadBy(seen, ({ nodeId }) => nodeId)
      }
    }),
    ofJob: os.errors.ofJob.handler(({ input }) => {
      const job = jobOf(input.jobId)
      const all = (job.errors ?? 0) > 0 ? grouped().get(idOf(job)) : undefined
      if (all === undefined || !all.includes(job)) return { errors: [] }
      return { errors: [{ group: groupOf(idOf(job), all), occurrence: occurrenceOf(job) }] }
    }),
    setState: os.errors.setState.handler(({ input }) => {
      const known = grouped()
      const changed = input.ids.filter((id) => known.has(id) && (states.get(id)?.state ?? 'open') !== input.state)
      for (const id of changed) states.set(id, { state: input.state, stateAtMs: Date.now(), reopenedAtMs: null })
      if (changed.length > 0) emit({ kind: 'errors' })
      return { changed }
    })
  }
}
