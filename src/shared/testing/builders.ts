import {
  type Job,
  type JobId,
  type JobStatus,
  type Node,
  RunTemplate,
  type Schedule,
  ScheduleSettings
} from '../contract/index.ts'
import { node } from '../examples/things.ts'
import { QUEUED_JOB } from '../plain-job.ts'
import { aJobId, branded, type Plain } from './ids.ts'

export function aNode(over: Plain<Partial<Node>> = {}): Node {
  return branded({
    ...node,
    id: 'eu-1',
    url: 'https://eu-1.example.net:6800/',
    username: 'deploy',
    slots: 8,
    slotsSource: 'set',
    slotsText: 'set by you',
    runs: [],
    running: 0,
    pending: 0,
    finished: 412,
    latencyMs: 19,
    lastSeenAtMs: Date.now(),
    clockOffsetMs: 3,
    addedAtMs: Date.now() - 40 * 86_400_000,
    ...over
  })
}

/** A queued job. If `over` has another `status`, the state and outcome match it. */
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

export const jobIdAt = (atMs: number, number: number): JobId =>
  aJobId(Math.floor(atMs).toString(16).padStart(12, '0') + number.toString(16).padStart(20, '0'))

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
