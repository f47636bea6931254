import { branded, type Plain } from '../../shared/testing/ids.ts'
import { ScheduleSettings } from '../../shared/contract/index.ts'
import { plain, say, written } from '../../shared/texts/message.ts'
import type { TimelineEntry } from '../model/attempt-change.ts'
import {
  type AttemptStart,
  type NewFiring,
  type NewJob,
  PLAIN_JOB,
  type Retention,
  type StoredBackfill,
  type StoredNode,
  type StoredSchedule,
  type StoredVersion
} from '../model/records.ts'

/** Builders' timestamps start here and increase by one millisecond. */
const START_MS = 1_800_000_000_000

let built = 0

function nextMs(): number {
  built += 1
  return START_MS + built
}

export function entry(text = 'it happened', over: Plain<Partial<TimelineEntry>> = {}): TimelineEntry {
  return { atMs: nextMs(), message: plain(text), evidence: {}, ...over }
}

export const asRead = ({ message, ...entry }: TimelineEntry) => ({ ...entry, ...written(message) })

/** Ids ascend in the order of building. `jobid` equals `id` by default. */
export function aNewJob(over: Plain<Partial<NewJob>> = {}): NewJob {
  const atMs = nextMs()
  const id = over.id ?? atMs.toString(16).padStart(12, '0').padEnd(32, '0')
  return branded({
    ...PLAIN_JOB,
    id,
    jobid: id,
    project: 'shop',
    spider: 'prices',
    source: 'api',
    entry: entry('asked for', { atMs }),
    ...over
  })
}

/** Returns the start of an attempt, by default of the first one, with the jobid that dispatch would choose. */
export function anAttemptStart(job: { id: string }, over: Plain<Partial<AttemptStart>> = {}): AttemptStart {
  const number = over.number ?? 1
  return branded({
    jobId: job.id,
    number,
    jobid: number === 1 ? job.id : `${job.id}-${number}`,
    nodeId: 'node-1',
    version: '1',
    entry: entry('sent'),
    ...over
  })
}

export function aStoredNode(over: Plain<Partial<StoredNode>> = {}): StoredNode {
  const addedAtMs = nextMs()
  const id = over.id ?? `node-${built}`
  return branded({
    id,
    name: id,
    kind: 'scrapyd',
    url: `http://${id}.example:6800/`,
    username: null,
    sealedPassword: null,
    caCertificate: null,
    slots: 2,
    tags: [],
    mode: 'active',
    scrapydVersion: '1.6',
    addedAtMs,
    queueAhead: 0,
    giveUpAfterSeconds: null,
    logsKept: null,
    group: null,
    clientCertificate: null,
    sealedClientKey: null,
    sealedProxyUrl: null,
    sourceId: null,
    tokenHash: null,
    kubernetes: null,
    ...over
  })
}

export function aVersion(over: Plain<Partial<StoredVersion>> = {}): StoredVersion {
  return branded({
    project: 'shop',
    version: '1',
    sha256: 'a'.repeat(64),
    sizeBytes: 2048,
    spiders: ['prices'],
    createdAtMs: nextMs(),
    deployments: [],
    ...over
  })
}

/** A schedule that fires daily at 03:00 Berlin time and queues one job. */
export function aStoredSchedule(
  over: Plain<Partial<Omit<StoredSchedule, 'settings'>> & { settings?: Partial<ScheduleSettings> }> = {}
): StoredSchedule {
  const atMs = nextMs()
  return branded({
    id: atMs.toString(16).padStart(12, '0').padEnd(32, '5'),
    revision: 1,
    paused: false,
    pauseNote: null,
    pausedBy: null,
    createdAtMs: atMs,
    changedAtMs: atMs,
    movedAtMs: 0,
    doneUntilMs: atMs,
    runCount: 0,
    failuresInARow: 0,
    crawl: null,
    ...over,
    settings: ScheduleSettings.parse({
      name: `schedule ${built}`,
      zone: 'Europe/Berlin',
      rules: [{ kind: 'cron', expression: '0 3 * * *' }],
      jobs: [{ project: 'shop', spiders: ['prices'] }],
      ...over.settings
    })
  })
}

export function aStoredBackfill(over: Plain<Partial<StoredBackfill>> = {}): StoredBackfill {
  return branded({
    id: 'b'.repeat(32),
    scheduleId: '5'.repeat(32),
    revision: 1,
    state: 'running',
    total: 5,
    fired: 0,
    failed: 0,
    fromMs: START_MS - 36_000_000,
    untilMs: START_MS,
    order: 'oldest_first',
    concurrency: 2,
    mayGoFirst: true,
    ...over
  })
}

/** A retention that deletes only expired responses, at a time later than all others. */
export function aRetention(over: Plain<Partial<Retention>> = {}): Retention {
  return branded({
    nowMs: 1e15,
    changes: Number.MAX_SAFE_INTEGER,
    deliveries: { deliveredSinceMs: 0, deadSinceMs: 0, newest: Number.MAX_SAFE_INTEGER },
    firings: { newest: Number.MAX_SAFE_INTEGER, sinceMs: 0, except: [] },
    chains: { cancelledSinceMs: 0 },
    ...over
  })
}

/** A firing by the clock, on time, with a unique nominal time. */
export function aNewFiring(over: Plain<Partial<NewFiring>> = {}): NewFiring {
  const atMs = nextMs()
  return branded({
    scheduleId: '5'.repeat(32),
    nominalMs: atMs,
    origin: 'tick',
    backfillId: null,
    atMs,
    state: 'fired',
    reason: 'on_time',
    message: say('firing.on_time'),
    count: 1,
    jobs: [],
    doneUntilMs: null,
    ...over
  })
}

export const ROOMY_QUOTA = {
  ofScope: { count: 1_000, bytes: 1_000_000 },
  ofAll: { count: 1_000, bytes: 1_000_000 }
}
