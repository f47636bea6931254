import {
  type Job,
  type JobId,
  type JobStatus,
  type Node,
  RunTemplate,
  type Schedule,
  ScheduleSettings
} from '../contract/index.ts'
import { QUEUED_JOB } from '../plain-job.ts'
import { aJobId, branded, type Plain } from './ids.ts'

/** A Scrapyd node that is up and idle. */
export function aNode(over: Plain<Partial<Node>> = {}): Node {
  return branded({
    id: 'eu-1',
    name: 'eu-1',
    kind: 'scrapyd',
    url: 'https://eu-1.example.net:6800/',
    username: 'deploy',
    hasPassword: true,
    hasCaCertificate: false,
    slots: 8,
    slotsSource: 'set',
    slotsText: 'set by you',
    queueAhead: 0,
    giveUpAfterSeconds: null,
    logsKept: null,
    group: null,
    tags: ['eu'],
    mode: 'active',
    health: 'up',
    problem: null,
    scrapydVersion: '1.6',
    nodeName: 'eu-1',
    runs: [],
    running: 0,
    pending: 0,
    finished: 412,
    latencyMs: 19,
    lastSeenAtMs: Date.now(),
    unreachableSinceMs: null,
    stuckSinceMs: null,
    clockOffsetMs: 3,
    addedAtMs: Date.now() - 40 * 86_400_000,
    hasClientCertificate: false,
    proxyUrl: null,
    sourceId: null,
    kubernetes: null,
    python: null,
    hasToken: false,
    tunnel: null,
    ...over
  })
}

/** A queued job; with another status, it has the matching state and outcome. */
export function aJob(over: Plain<Partial<Job>> = {}): Job {
  const id = over.id ?? jobIdAt(Date.now(), 1)
  const status: JobStatus = over.status ?? 'queued'
  const ended = !['queued', 'starting', 'running'].includes(status)
  return branded({
    ...QUEUED_JOB,
    id,
    jobid: id,
    project: 'prices',
    version: '20261119T181000',
    spider: 'otto',
    source: 'ui',
    state: ended ? 'ended' : (status as Job['state']),
    outcome: ended ? (status as Job['outcome']) : null,
    status,
    lane: '',
    queuedAtMs: Date.now(),
    ...over
  })
}

/** Ids sort by time, then by the number. */
export const jobIdAt = (atMs: number, number: number): JobId =>
  aJobId(Math.floor(atMs).toString(16).padStart(12, '0') + number.toString(16).padStart(20, '0'))

/** Daily at 03:00 UTC, one job; it has never fired. */
export function aSchedule(over: Plain<Partial<Schedule>> = {}): Schedule {
  const settings = ScheduleSettings.parse({
    name: 'nightly',
    zone: 'UTC',
    rules: [{ kind: 'cron', expression: '0 3 * * *' }],
    jobs: [RunTemplate.parse({ project: 'prices', spiders: ['otto'] })]
  })
  return branded({
    ...settings,
    id: '5ced'.padEnd(32, '0'),
    revision: 0,
    paused: false,
    pauseNote: null,
    pausedBy: null,
    createdAtMs: 0,
    changedAtMs: 0,
    nextAtMs: null,
    nextNominalMs: null,
    runCount: 0,
    failuresInARow: 0,
    recent: [],
    backfill: null,
    ...over
  })
}
