import { join } from 'node:path'
import {
  type AlertRuleId,
  AlertRuleSettings,
  type AttemptResult,
  type Outcome,
  RECOMMENDED_POLICY
} from '../../src/shared/contract/index.ts'
import { aProjectName, aVersionName, aWebhookId, anAttemptNumber, branded } from '../../src/shared/testing/ids.ts'
import { type Message, plain, say } from '../../src/shared/texts/message.ts'
import { NO_LABELS } from '../../src/engine/monitoring/alerts/signal.ts'
import { openFilesystemBlobStore } from '../../src/engine/storage/blobs/filesystem/filesystem-blob-store.ts'
import { ItemsArchive } from '../../src/engine/runs/log-collector/items-archive.ts'
import { LogArchive } from '../../src/engine/runs/logs/archive/log-archive.ts'
import { packSmallLog } from '../../src/engine/runs/logs/archive/small-log.ts'
import { cutBytes } from '../../src/engine/runtime/byte-window.ts'
import { openLogThreads } from '../../src/engine/runs/logs/scan/log-scans.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { systemRandom } from '../../src/engine/runtime/random.ts'
import { asSealedText } from '../../src/engine/runtime/secret-box.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import type { AttemptChange } from '../../src/engine/model/attempt-change.ts'
import type { NewJob, StoredAlertFact, StoredEpisode } from '../../src/engine/model/records.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import { aNewJob, anAttemptStart, aVersion } from '../../src/engine/testing/builders.ts'
import type { FakeClock } from '../../src/engine/testing/fake-clock.ts'

const PLENTY = { count: 1_000, bytes: 1_000_000 }

const DAY_MS = 86_400_000

/** Creates states that an engine passes through too quickly to be stopped in. */
export async function fillThroughStore(dataDirectory: string, clock: FakeClock): Promise<void> {
  const nowMs = clock.nowMs()
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const store = await openSqliteStoreHere({ path, clock, logger: silentLogger })
  const blobs = await openFilesystemBlobStore(join(dataDirectory, 'blobs'))
  const nodeId = (await store.listNodes()).find(({ name }) => name === 'berlin')!.id
  const anna = (await store.listUsers()).find(({ name }) => name === 'anna')!.id
  await store.putAuthenticator({
    userId: anna,
    sealedSecret: asSealedText('v1.c2VhbGVk'),
    createdAtMs: nowMs,
    usedStep: Math.floor(nowMs / 30_000),
    recoveryHashes: ['a', 'b'].map((digit) => digit.repeat(64))
  })
  await store.addPasskey({
    id: branded('5'.repeat(32)),
    userId: anna,
    credentialId: 'Y3JlZGVudGlhbA',
    name: 'laptop',
    host: 'deck.example.org',
    publicKey: 'a2V5',
    signCount: 3,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs
  })
  const entry = (words: string | Message) => {
    const message = typeof words === 'string' ? plain(words) : words
    return { atMs: nowMs, message, evidence: { seen: message.code.length } }
  }
  let made = 0

  async function queue(over: Partial<NewJob> = {}): Promise<NewJob> {
    made += 1
    const id = `${nowMs.toString(16).padStart(12, '0')}${made.toString(16).padStart(20, '0')}`
    const job = aNewJob({ id, jobid: id, spider: 'states', entry: entry('Asked for by the fixture'), ...over })
    await store.enqueueJobs([job])
    return job
  }
  async function begin(over: Partial<NewJob> = {}): Promise<NewJob> {
    const job = await queue(over)
    await store.beginAttempts([anAttemptStart(job, { nodeId, entry: entry(say('timeline.sent', { node: 'berlin' })) })])
    return job
  }
  async function change(job: NewJob, over: Partial<AttemptChange>): Promise<void> {
    const from: AttemptChange['from'] = ['sending', 'uncertain', 'accepted', 'running', 'finishing']
    const base = { jobId: job.id, attemptNumber: 1, from, kind: over.to ?? 'note', entry: entry('It changed') }
    const [isApplied] = await store.applyChanges([{ ...base, ...over } as AttemptChange])
    if (isApplied !== true) throw new Error(`${job.id} did not become ${over.to}`)
  }
  async function end(job: NewJob, result: AttemptResult, over: Partial<AttemptChange> = {}): Promise<void> {
    await change(job, { to: 'accepted' })
    await change(job, { to: 'running', details: { pid: 4242, startedAtMs: nowMs - 5_000 } })
    await change(job, { to: 'finishing' })
    await change(job, { to: 'ended', result, reason: plain(result), ...over })
  }

  // --- queued, and held ---------------------------------------------------------------------------------------------
  await queue({ priority: 3, args: { colour: 'red' }, placement: { nodeId, tags: [] } })
  await queue({
    placement: { nodeId: null, tags: ['eu', '!slow'] },
    limits: { wallSeconds: 60 },
    version: aVersionName('1')
  })
  await queue({ dedupe: { key: 'once', expiresAtMs: nowMs + DAY_MS }, expiresAtMs: nowMs + DAY_MS })
  const parent = await queue()
  await queue({ after: [{ jobId: parent.id, on: 'succeeded' }] })
  await queue({ notBeforeMs: nowMs + DAY_MS })
  await begin({ noOverlap: true, args: { one: 'at a time' } })
  await queue({ noOverlap: true, args: { one: 'at a time' } })
  const retried = await begin({
    retry: { attempts: 3, backoffSeconds: 1, backoffFactor: 2, backoffMaxSeconds: 9, on: ['lost'] }
  })
  await change(retried, {
    to: 'ended',
    result: 'lost',
    reason: plain('gone'),
    jobOutcome: null,
    retryAtMs: nowMs + DAY_MS
  })
  const cancelled = await queue()
  await store.cancelQueued([cancelled.id], entry('Cancelled while it was queued'))

  // --- live ---------------------------------------------------------------------------------------------------------
  await begin()
  await change(await begin(), { to: 'uncertain' })
  await change(await begin(), { to: 'accepted' })
  const running = await begin()
  await change(running, { to: 'running', details: { pid: 7, startedAtMs: nowMs - 1_000 } })
  const leaving = await begin()
  await change(leaving, { to: 'running' })
  await store.askCancel([leaving.id], entry('Somebody wants it to end'))
  const finishing = await begin()
  await change(finishing, { to: 'running' })
  await change(finishing, { to: 'finishing' })

  // --- ended, with what they left behind ----------------------------------------------------------------------------
  const outcomes: Outcome[] = ['succeeded', 'failed', 'cancelled', 'lost', 'unclear']
  for (const outcome of outcomes) {
    const job = await begin()
    const stats = { finish_reason: outcome, item_scraped_count: 3 }
    await end(job, outcome, {
      jobOutcome: outcome,
      counts: { pages: 10, items: 3, errors: 1 },
      ...(outcome === 'failed' ? { killingLine: 'ValueError: no price', mayHaveRunTwice: true } : {}),
      details: {
        exitCode: 1,
        signal: 'SIGKILL',
        stats,
        peakMemoryBytes: 1_000_000,
        cpuSeconds: 1.5,
        limitHit: plain('memory')
      }
    })
  }
  const withSmallLog = await begin()
  await end(withSmallLog, 'succeeded')
  const smallLog = cutBytes(Buffer.from('Spider opened\nSpider closed (finished)\n'), { offset: 0, limitBytes: 1_000 })
  const packed = (await packSmallLog(smallLog))!
  const sizes = { rawBytes: smallLog.sizeBytes, storedBytes: packed.length }
  await store.markLogArchived(withSmallLog.id, anAttemptNumber(1), { packed, sizes })
  const withLargeLog = await begin()
  await end(withLargeLog, 'succeeded')
  const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, line) => `line ${line} of a long log\n`).join(''))
  const threads = openLogThreads(systemClock, 1)
  const parts = { blobs, random: systemRandom, threads, cache: null as never }
  const archive = new LogArchive({ ...parts, directory: join(dataDirectory, 'log-copies') })
  const itemBlobs = new LogArchive({ ...parts, tree: 'items', directory: join(dataDirectory, 'items-copies') })
  const kept = await archive.copy(withLargeLog.id, anAttemptNumber(1), async (range) => cutBytes(bytes, range))
  const items = new ItemsArchive({ store, clock, archive: itemBlobs, deleteLocal: async () => {} })
  const runOf = async (job: NewJob) => (await store.listAttempts(job.id))[0]!
  await items.keep(await runOf(withLargeLog), async (range) => cutBytes(Buffer.from('{"at":1}\n'), range))
  await items.giveUp(await runOf(withSmallLog), 'The node deleted the items before they were copied')
  await threads.close()
  await store.markLogArchived(withLargeLog.id, anAttemptNumber(1), {
    packed: null,
    sizes: { rawBytes: kept.rawBytes, storedBytes: kept.packedBytes }
  })

  // --- log figures and errors, findings, storage policy -------------------------------------------------------------
  const error = {
    fingerprint: 'f1',
    title: 'KeyError: <text>',
    culprit: 'seen/spiders/states.py in parse',
    line: 12,
    offset: 900,
    exceptionType: 'KeyError',
    because: 'frames' as const,
    count: 2,
    firstSeenMs: nowMs - 9_000,
    lastSeenMs: nowMs,
    message: 'Spider error processing <GET https://shop.test/1>'
  }
  await store.recordReadings([
    { jobId: withLargeLog.id, attemptNumber: anAttemptNumber(1), figures: '{"lines":5000}', errors: [error] }
  ])
  const [group] = await store.listErrorGroups({}, { before: null, limit: 1, sinceMs: 0 })
  await store.setErrorState([group!.id], 'ignored', nowMs)
  await store.putFindings({
    project: withLargeLog.project,
    spider: 'states',
    jobId: withLargeLog.id,
    endedAtMs: nowMs,
    isDismissed: false,
    findings: [{ metric: 'items', field: null, words: 'Items fell', value: 3, usual: { low: 90, high: 110 } }]
  })
  await store.putStoragePolicy({ revision: 1, policy: { ...RECOMMENDED_POLICY, paused: true } })
  await store.keepJobs([withLargeLog.id], true, entry('kept'))

  const external = aNewJob({
    id: '0'.repeat(31) + '7',
    jobid: 'brought',
    source: 'adopted',
    entry: entry('Found there')
  })
  const start = anAttemptStart(external, { jobid: 'brought', nodeId, entry: entry('Adopted') })
  await store.recordRuns([{ job: external, start, changes: [] }])

  // --- an end that a chain has not handled yet, and one that triggers nothing ---------------------------------------
  await end(await begin({ spider: 'reports' }), 'succeeded')
  await end(await begin({ spider: 'reports' }), 'failed')

  await store.putVersion(
    aVersion({
      project: 'seen',
      version: '7',
      sha256: null,
      sizeBytes: null,
      spiders: null,
      createdAtMs: nowMs,
      deployments: [
        { nodeId, state: 'foreign', sha256: null, error: null, changedAtMs: nowMs },
        { nodeId: 'another', state: 'failed', sha256: 'b'.repeat(64), error: 'no room', changedAtMs: nowMs }
      ]
    })
  )
  const claim = { scope: 'key of a client', key: 'order-2', fingerprint: 'f2', begunBy: 'an engine', nowMs }
  await store.claimAnswer({ ...claim, expiresAtMs: nowMs + DAY_MS, quota: { ofScope: PLENTY, ofAll: PLENTY } })

  // --- deliveries: one delivered, one given up, the others waiting --------------------------------------------------
  for (const { id, name } of await store.listWebhooks()) {
    const waiting = await store.listDeliveries(id, { state: 'waiting', before: null, limit: 2 })
    const state = name === 'down' ? ('dead' as const) : ('delivered' as const)
    await store.concludeTries(
      waiting.map((delivery) => ({ id: delivery.id, state, atMs: nowMs, nextTryAtMs: null, answer: `it is ${state}` }))
    )
  }
  await end(await begin(), 'succeeded')
  await fillAlerts(store, nowMs)
  await fillFactsAndDigests(store, nowMs)

  await store.close()
}

async function fillAlerts(store: Store, nowMs: number): Promise<void> {
  const channelId = aWebhookId('7'.repeat(32))
  await store.putWebhook({
    id: channelId,
    kind: 'channel',
    name: 'night shift',
    url: '',
    events: [],
    project: null,
    enabled: true,
    createdAtMs: nowMs,
    sealedSecret: null,
    sealedOldSecret: null,
    oldSecretUntilMs: null,
    channel: {
      target: { kind: 'slack' },
      quiet: { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [0, 1, 2, 3, 4, 5, 6] }
    }
  })
  const anyScope = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }
  const rule = {
    ...anyScope,
    name: 'Nodes',
    watch: 'node_down',
    comparison: 'at_least',
    threshold: 1,
    forSeconds: 120,
    severity: 'critical',
    channels: [channelId],
    escalation: { afterSeconds: 600, channels: [channelId] }
  } as const
  const [nodes, items] = ['1'.repeat(32), '2'.repeat(32)] as [AlertRuleId, AlertRuleId]
  const few = { ...rule, name: 'Few items', watch: 'spider_items', comparison: 'at_most', threshold: 0.5 } as const
  const rules = [
    { id: nodes, ...AlertRuleSettings.parse(rule) },
    { id: items, ...AlertRuleSettings.parse({ ...few, project: 'shop', groupBy: 'each', repeatSeconds: null }) }
  ]
  for (const one of rules) await store.putAlertRule({ ...one, revision: 1, createdAtMs: nowMs })
  await store.putAlertRule({ ...rules[1]!, enabled: false, owner: 'shop', revision: 2, createdAtMs: nowMs })
  await store.putSilence({
    ...anyScope,
    id: branded('3'.repeat(32)),
    ruleId: nodes,
    nodeTag: 'eu',
    fromMs: nowMs,
    untilMs: nowMs + DAY_MS,
    repeats: null,
    comment: 'new disks',
    by: 'anna'
  })
  await store.putSilence({
    ...anyScope,
    id: branded('4'.repeat(32)),
    ruleId: null,
    nodeTag: 'eu',
    fromMs: nowMs,
    untilMs: nowMs + 7_200_000,
    repeats: { every: 'week', zone: 'Europe/Berlin', endsMs: null },
    comment: 'backups',
    by: 'anna'
  })
  const labels = { ...NO_LABELS, project: aProjectName('shop'), spider: 'prices', nodeTags: ['eu'] }
  const acknowledged = { by: 'anna', atMs: nowMs }
  const group = { id: `${channelId} ${items} each shop/prices`, channelId, ruleId: items }
  const states: Partial<StoredEpisode>[] = [
    { state: 'pending' },
    { state: 'firing', firedAtMs: nowMs, channels: { [channelId]: { groupId: group.id, isTold: false } } },
    { state: 'calming', firedAtMs: nowMs, endedAtMs: nowMs, acknowledged, isEscalated: true },
    { state: 'resolved', firedAtMs: nowMs, endedAtMs: nowMs, resolvedAtMs: nowMs }
  ]
  await store.writeAlerts({
    episodes: states.map((over, at) => ({
      id: branded(String(at).repeat(32)),
      ruleId: items,
      ruleName: 'Few items',
      severity: 'warning',
      owner: '',
      watch: 'spider_items',
      key: 'shop/prices',
      value: 0,
      subject: 'shop/prices',
      text: 'No items',
      labels,
      sinceMs: nowMs,
      firedAtMs: null,
      endedAtMs: null,
      resolvedAtMs: null,
      acknowledged: null,
      isEscalated: false,
      channels: {},
      state: 'pending',
      ...over
    })),
    groups: [{ ...group, lastToldAtMs: nowMs, flushAtMs: nowMs + 30_000 }],
    forgotten: [],
    endedGroups: [],
    messages: [{ channelId, atMs: nowMs, data: { kind: 'news' } }]
  })
}

async function fillFactsAndDigests(store: Store, nowMs: number): Promise<void> {
  const fact: StoredAlertFact = {
    watch: 'disk_free',
    key: 'service',
    value: 12.5,
    sinceMs: nowMs - 60_000,
    atMs: nowMs - 60_000,
    subject: 'The disk of the service',
    text: '12.5 % of the disk of the service are free',
    labels: NO_LABELS
  } as const
  const labels = { ...NO_LABELS, project: aProjectName('shop'), spider: 'prices', nodeTags: ['eu'] }
  const unusual: StoredAlertFact = { ...fact, watch: 'spider_unusual', key: 'shop/prices', value: 1, text: 'Few items' }
  await store.recordAlertFacts([
    fact,
    { ...fact, value: 9.5, sinceMs: nowMs, atMs: nowMs, text: '9.5 % of the disk of the service are free' },
    { ...unusual, labels },
    { ...unusual, value: null, sinceMs: nowMs, atMs: nowMs, labels }
  ])
  const digest = { every: 'week', at: '08:00', zone: 'Europe/Berlin', weekday: 1 } as const
  const channelId = aWebhookId('8'.repeat(32))
  await store.putWebhook({
    id: channelId,
    kind: 'channel',
    name: 'every Monday',
    url: '',
    events: [],
    project: null,
    enabled: true,
    createdAtMs: nowMs,
    sealedSecret: null,
    sealedOldSecret: null,
    oldSecretUntilMs: null,
    channel: { target: { kind: 'desktop' }, quiet: null, digest }
  })
  await store.sendDigest({ channelId, settings: JSON.stringify(digest), toldMs: nowMs }, null)
}
