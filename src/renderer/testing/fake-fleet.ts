import type { TakenDefaults } from '../../shared/job-defaults.ts'
import {
  type Attempt,
  DEFAULT_PROJECT_SETTINGS,
  type Job,
  type JobDetail,
  type JobStatus,
  type LimitRule,
  type Node,
  type Project,
  type Transition
} from '../../shared/contract/index.ts'
import { aJob, aNode, jobIdAt } from '../../shared/testing/builders.ts'
import { anAttemptNumber, aProjectName, aVersionName, branded } from '../../shared/testing/ids.ts'
import { fakeUsage, WARM } from './fake-local-node.ts'
import { type Message, say, waitFor, written, writtenAs } from '../../shared/texts/message.ts'

/** Returns a generator of numbers in [0, 1). The same seed gives the same sequence. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const SPIDERS: Record<string, string[]> = {
  prices: ['amazon_de', 'otto', 'zalando', 'mediamarkt', 'bol_nl', 'coolblue', 'ebay_uk', 'cdiscount'],
  news: ['reuters', 'lemonde', 'nikkei', 'folha', 'hindu'],
  jobs: ['stepstone', 'indeed', 'seek'],
  maps: ['osm_poi', 'transit']
}
const VERSIONS = ['20261119T181000', '20261112T090412', '20261030T134455']

export function fakeNodes(count: number, nowMs: number): Node[] {
  const names = [
    'this computer',
    'eu-1',
    'eu-2',
    'eu-3',
    'eu-4',
    'us-1',
    'us-2',
    'us-3',
    'ap-1',
    'ap-2',
    'lab-a',
    'lab-b'
  ]
  const slots = [4, 8, 8, 8, 8, 16, 16, 16, 8, 8, 6, 6]
  const latency = [1, 19, 21, 25, 840, 26, 32, 13, 124, 96, 8, 11]
  return Array.from({ length: count }, (_, index) => {
    const name = names[index] ?? `node-${index + 1}`
    const region = name.split('-')[0] as string
    const node = aNode({
      id: index === 0 ? 'local' : name,
      name,
      nodeName: name,
      url: index === 0 ? '' : `https://${name}.example.net:6800/`,
      kind: index === 0 ? 'local' : 'scrapyd',
      slots: slots[index] ?? 8,
      slotsSource: index === 0 ? 'default' : index % 5 === 3 ? 'learned' : 'set',
      ...writtenAs(
        'slotsText',
        index === 0
          ? say('slots.of_cpus')
          : index % 5 === 3
            ? say('slots.proved', { slots: slots[index] ?? 8, waited: 2, seconds: 12, isTrying: false })
            : say('slots.set')
      ),
      queueAhead: index % 4 === 2 ? 2 : 0,
      logsKept: null,
      giveUpAfterSeconds: region === 'us' ? 900 : null,
      group: GROUPS[region] ?? null,
      tags: index === 0 ? [] : [region, ...(index % 4 === 1 ? ['proxy'] : [])],
      scrapydVersion: index === 0 ? null : (['1.6', '1.6', '1.5+', '1.4', '1.3'][index % 5] as string),
      latencyMs: latency[index] ?? 15 + (index % 40),
      lastSeenAtMs: nowMs - 400,
      username: index === 0 || name.startsWith('lab') ? null : 'deploy',
      hasPassword: index !== 0 && !name.startsWith('lab'),
      python: index === 0 ? { path: '.venv/bin/python', version: '3.13.2', scrapyVersion: '2.13.3', start: WARM } : null
    })
    if (name === 'eu-4') {
      return {
        ...node,
        health: 'down' as const,
        ...writtenAs(
          'problem',
          say('node_error.no_answer', { label: name, endpoint: 'daemonstatus.json', seconds: 5 })
        ),
        lastSeenAtMs: nowMs - 252_000,
        unreachableSinceMs: nowMs - 252_000,
        latencyMs: null
      }
    }
    // The node responds; only stuckSinceMs shows that it starts no jobs.
    if (name === 'us-2') return { ...node, stuckSinceMs: nowMs - 240_000 }
    if (name === 'lab-b') return { ...node, mode: 'draining' as const }
    if (name === 'lab-a') return { ...node, mode: 'cordoned' as const }
    return node
  })
}

const GROUPS: Record<string, string> = { eu: 'Europe', us: 'America', ap: 'Asia', lab: 'Laboratory' }

export function fakeProjects(nodes: readonly Node[], nowMs: number): Project[] {
  return Object.entries(SPIDERS).map(([name, spiders], index) => ({
    name: aProjectName(name),
    latestVersion: aVersionName(VERSIONS[0] as string),
    activeVersion: aVersionName(VERSIONS[0] as string),
    settings: DEFAULT_PROJECT_SETTINGS,
    versions: VERSIONS.map((version, age) => ({
      project: aProjectName(name),
      version: aVersionName(version),
      sha256: `${index}${age}`.repeat(32),
      sizeBytes: 48_211 + index * 9071 - age * 1200,
      spiders: age === 0 ? spiders : spiders.slice(0, -1),
      createdAtMs: nowMs - age * 9 * 86_400_000 - 2 * 86_400_000,
      orderWarning: null,
      deployments: nodes
        .filter((_, place) => age === 0 || place % (age + 1) === 0)
        .map((node) => ({
          nodeId: node.id,
          state: node.health === 'down' ? ('failed' as const) : ('present' as const),
          sha256: node.health === 'down' ? null : `${index}${age}`.repeat(32),
          error: node.health === 'down' ? 'The node did not answer within 5 s' : null,
          changedAtMs: nowMs - 3_600_000
        }))
    }))
  }))
}

export function fakeLimits(): LimitRule[] {
  const anything = { project: null, spider: null, tag: null, perNode: false }
  return [
    { ...anything, id: '1', project: aProjectName('news'), max: 40 },
    { ...anything, id: '2', spider: 'amazon*', perNode: true, max: 1 },
    { ...anything, id: '3', project: aProjectName('maps'), tag: 'proxy', max: 4 }
  ]
}

/** Waiting reasons to assign to queued jobs in rotation. The last three are holds. */
const waitsAt = (
  nowMs: number,
  { project, spider }: Job
): Pick<Job, 'waiting' | 'hold' | 'notBeforeMs' | 'attemptCount'>[] => {
  const laterHourMs = Math.ceil(nowMs / 3_600_000 + 4) * 3_600_000
  const free = { hold: null, notBeforeMs: null, attemptCount: 0 }
  const of = { project, spider: null, tag: null, perNode: false }
  const limit = say('limit.reached', { ...of, live: 40, max: 40 })
  return [
    { ...free, waiting: waitFor('all_slots_busy', { only: null, tags: ['eu'], slots: 16, held: 0, version: null }) },
    { ...free, waiting: waitFor('next_in_line') },
    { ...free, waiting: waitFor('egg_on_its_way', { version: '20261119T181000', node: 'us-1', refused: null }) },
    { ...free, waiting: waitFor('no_matching_node', { only: null, tags: ['gpu'] }) },
    { ...free, waiting: waitFor('limit', { limit }) },
    {
      hold: 'retry',
      notBeforeMs: null,
      attemptCount: 1,
      waiting: { ...waitFor('retry_wait', { untilMs: nowMs + 28_000 }), untilMs: nowMs + 28_000 }
    },
    {
      hold: 'not_before',
      notBeforeMs: laterHourMs,
      attemptCount: 0,
      waiting: { ...waitFor('not_before', { untilMs: laterHourMs }), untilMs: laterHourMs }
    },
    { ...free, hold: 'overlap', waiting: waitFor('overlap', { spider }) }
  ]
}

const FAKE_RETRY = {
  attempts: 3,
  backoffSeconds: 30,
  backoffFactor: 2,
  backoffMaxSeconds: 3600,
  on: ['failed' as const, 'lost' as const]
}

/** Returns jobs newest first. Puts the running ones into slots of `nodes`, which it modifies in place. */
export function fakeJobs(count: number, nodes: Node[], nowMs: number, random: () => number): Job[] {
  const projects = Object.keys(SPIDERS)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const jobs: Job[] = []
  for (let index = 0; index < count; index++) {
    const queuedAtMs = nowMs - index * 31_000 - random() * 20_000
    const project = pick(projects)
    const base = aJob({
      id: jobIdAt(queuedAtMs, index),
      project,
      spider: pick(SPIDERS[project] as string[]),
      queuedAtMs,
      priority: pick([0, 0, 0, 5]),
      source: pick(['ui', 'scrapyd', 'api', 'scrapyd']),
      args: random() < 0.3 ? { category: 'laptops', pages: '20' } : {}
    })
    base.jobid = base.id
    base.rank = count - index
    base.lane = `${base.project} ${base.spider}`
    if (base.source === 'scrapyd') base.retry = FAKE_RETRY
    const place = index / count
    if (place < 0.2) jobs.push({ ...base, ...pick(waitsAt(nowMs, base)) })
    else {
      const usable = nodes.filter(({ health, mode }) => health === 'up' && mode !== 'cordoned')
      const free = place > 0.6 ? usable : usable.filter(({ runs, slots }) => runs.length < slots)
      const node = pick(free.length > 0 ? free : usable)
      const startedAtMs = queuedAtMs + 900 + random() * 60_000
      const items = Math.floor(random() * 7000)
      const status: JobStatus =
        place < 0.23 && free.length > 0
          ? 'starting'
          : place < 0.6 && free.length > 0
            ? 'running'
            : pick(['succeeded', 'succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled', 'succeeded', 'lost'])
      const live = status === 'starting' || status === 'running'
      if (live)
        node.runs.push({
          jobId: base.id,
          jobid: base.id,
          project: aProjectName(project),
          spider: base.spider,
          state: status as 'running',
          sinceMs: startedAtMs,
          pid: null,
          usage:
            node.kind === 'local' && status === 'running'
              ? (fakeUsage(base.id, startedAtMs, nowMs).at(-1) ?? null)
              : null
        })
      const failed = status === 'failed'
      jobs.push({
        ...base,
        status,
        state: live ? (status as Job['state']) : 'ended',
        outcome: live ? null : (status as Job['outcome']),
        nodeId: node.id,
        attemptCount: 1,
        startedAtMs: status === 'starting' ? null : startedAtMs,
        endedAtMs: live ? null : startedAtMs + random() * 3_000_000,
        pages: items * 4,
        items,
        errors: failed ? 212 : Math.floor(random() * 3),
        reason: live
          ? null
          : failed
            ? 'finished, 212 errors'
            : status === 'lost'
              ? 'the node forgot it'
              : status === 'cancelled'
                ? 'shutdown'
                : 'finished',
        killingLine: failed ? "KeyError: 'offerPrice'" : null
      })
    }
  }
  leaveUnknown(jobs, nodes)
  for (const node of nodes) {
    if (node.id === 'ap-1' || node.id === 'lab-b') {
      for (let index = 0; index < 2; index++)
        node.runs.push({
          jobId: null,
          jobid: `nightly-${index}`,
          project: aProjectName('legacy'),
          spider: 'catalogue',
          state: 'running',
          sinceMs: nowMs - 7_200_000,
          pid: 4_711 + index,
          usage: null
        })
    }
    node.running = node.runs.length
    node.pending = 0
  }
  return jobs
}

/** Makes the two runs on the unreachable node unknown. */
function leaveUnknown(jobs: Job[], nodes: readonly Node[]): void {
  const down = nodes.find(({ unreachableSinceMs }) => unreachableSinceMs !== null)
  if (down === undefined) return
  const running = jobs.filter(({ status, nodeId }) => status === 'running' && nodeId !== 'local').slice(-2)
  for (const job of running) {
    const before = nodes.find(({ id }) => id === job.nodeId)!
    const run = before.runs.find(({ jobId }) => jobId === job.id)!
    before.runs = before.runs.filter((each) => each !== run)
    down.runs.push(run)
    Object.assign(job, { nodeId: down.id, unknownSinceMs: down.unreachableSinceMs })
  }
  const lost = jobs.find(({ status }) => status === 'lost')
  if (lost) lost.mayHaveRunTwice = true
}

export function fakeDetail(job: Job, taken: TakenDefaults = {}): JobDetail {
  const timeline: Transition[] = []
  const add = (kind: Transition['kind'], atMs: number, what: Message, evidence: Record<string, unknown> = {}) =>
    timeline.push({
      sequence: timeline.length + 1,
      jobId: job.id,
      attemptNumber: kind === 'queued' ? null : branded(anAttemptNumber(1)),
      atMs,
      kind,
      ...written(what),
      evidence
    })
  add('queued', job.queuedAtMs, say('timeline.queued', { source: 'ui', by: null }), {
    priority: job.priority,
    ...taken
  })
  const attempts: Attempt[] = []
  if (job.nodeId !== null) {
    const sentAtMs = (job.startedAtMs ?? job.queuedAtMs + 5000) - 4200
    add('sending', sentAtMs, say('timeline.sent', { node: job.nodeId }), { freeSlots: 4, hasVersion: true })
    add('accepted', sentAtMs + 9, say('timeline.accepted'), { status: 200, elapsedMs: 9 })
    if (job.startedAtMs !== null)
      add('running', job.startedAtMs, say('timeline.running', { pid: 40122 }), { pid: 40122 })
    if (job.cancelAskedAtMs !== null) {
      add('cancel_asked', job.cancelAskedAtMs, say('timeline.cancel_requested', { by: null }))
      const nextAtMs = job.cancelAskedAtMs + 600_000
      const planned = { signal: 'INT', nodeSaid: 'running', next: 'INT', nextAtMs, killAtMs: nextAtMs + 15_000 }
      add('cancel_sent', job.cancelAskedAtMs, say('timeline.stop_step', { step: 0 }), planned)
    }
    if (job.endedAtMs !== null)
      add(
        'ended',
        job.endedAtMs,
        say('timeline.ended', { outcome: job.outcome ?? 'unclear', reason: job.reason ?? '' }),
        { finish_reason: job.reason ?? '' }
      )
    const samples =
      job.nodeId === 'local' && job.startedAtMs !== null && job.endedAtMs !== null
        ? fakeUsage(job.id, job.startedAtMs, job.endedAtMs)
        : []
    attempts.push({
      jobId: job.id,
      number: anAttemptNumber(1),
      jobid: job.id,
      nodeId: job.nodeId,
      project: job.project,
      version: aVersionName(job.version ?? ''),
      spider: job.spider,
      state: job.state === 'ended' ? 'ended' : job.state === 'running' ? 'running' : 'accepted',
      result: job.outcome,
      reason: job.reason,
      sentAtMs,
      acceptedAtMs: sentAtMs + 9,
      startedAtMs: job.startedAtMs,
      endedAtMs: job.endedAtMs,
      pid: 40122,
      exitCode: job.outcome === 'succeeded' ? 0 : null,
      signal: null,
      stats:
        job.state === 'ended'
          ? {
              finish_reason: job.reason ?? '',
              item_scraped_count: job.items ?? 0,
              'downloader/request_count': job.pages ?? 0,
              'log_count/ERROR': job.errors ?? 0
            }
          : null,
      limitHit: job.reason?.includes('limit of') ? `${job.reason} (used 530 MB)` : null,
      peakMemoryBytes: samples.length > 0 ? Math.max(...samples.map(({ memoryBytes }) => memoryBytes)) : null,
      cpuSeconds: samples.length > 0 ? samples.reduce((sum, { cpuShare }) => sum + cpuShare * 2, 0) : null,
      logArchived: job.state === 'ended',
      logDeletedAtMs: null
    })
  }
  if (job.kept) add('changed', job.endedAtMs ?? job.queuedAtMs, say('timeline.kept', { by: null }), { kept: true })
  return { job, attempts, timeline }
}

export function fakeLogLine(job: Job, number: number): string {
  const at = new Date((job.startedAtMs ?? job.queuedAtMs) + number * 700).toISOString().slice(0, 19).replace('T', ' ')
  if (number % 41 === 40) {
    return `${at} [scrapy.core.scraper] ERROR: Spider error processing <GET https://example.org/tech/c${number}>\nTraceback (most recent call last):\n  File "${job.project}/spiders/${job.spider}.py", line 88, in parse_offer\n    offer["offerPrice"]["amount"]\nKeyError: 'offerPrice'\n`
  }
  if (number % 17 === 0)
    return `${at} [scrapy.downloadermiddlewares.retry] WARNING: Retrying <GET https://example.org/world/b${number}> (failed 1 times): timeout\n`
  if (number % 11 === 0)
    return `${at} [scrapy.extensions.logstats] INFO: Crawled ${number * 9} pages (at 212 pages/min), scraped ${number * 3} items (at 11 items/min)\n`
  return `${at} [scrapy.core.engine] DEBUG: Crawled (200) <GET https://example.org/markets/a${number}> (referer: None)\n`
}
