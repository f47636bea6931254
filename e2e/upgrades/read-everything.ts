import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { openFilesystemBlobStore } from '../../src/engine/storage/blobs/filesystem/filesystem-blob-store.ts'
import { LogArchive } from '../../src/engine/runs/logs/archive/log-archive.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { openFileSecretBox } from '../../src/engine/runtime/file-secret-box.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { asSealedText } from '../../src/engine/runtime/secret-box.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { ALERT_WATCH_NAMES } from '../../src/shared/alert-watches.ts'
import type { SealedText } from '../../src/shared/contract/index.ts'
import { render } from '../../src/shared/texts/message.ts'

const PLENTY = { count: 1_000, bytes: 1_000_000 }

export type Everything = Awaited<ReturnType<typeof readEverything>>

const ALL = { before: null, limit: 10_000 }

/** Reads a whole data directory through the store, the blobs and the key file. Returns JSON in a stable order. */
export async function readEverything(dataDirectory: string, clock: Clock) {
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const store = await openSqliteStoreHere({ path, clock, logger: silentLogger })
  const blobs = await openFilesystemBlobStore(join(dataDirectory, 'blobs'))
  const archive = new LogArchive({ blobs, directory: dataDirectory } as ConstructorParameters<typeof LogArchive>[0])
  const secrets = await openFileSecretBox(join(dataDirectory, 'secret.key'))
  try {
    const webhooks = await store.listWebhooks()
    const lanes = (await store.listLanes()).sort((one, other) => (one.lane < other.lane ? -1 : 1))
    const sealed = new Set<SealedText>()
    const everything = {
      jobs: await readJobs(),
      lanes,
      heads: await store.readHeads(lanes.map(({ lane }) => ({ lane, limit: 100 }))),
      liveAttempts: await store.listLiveAttempts(),
      stateCounts: await store.countByState(),
      finishedRuns: await store.listFinishedRuns(100),
      nodes: await store.listNodes(),
      versions: await store.listVersions(),
      projectSettings: Object.fromEntries(await store.listProjectSettings()),
      schedules: await store.listSchedules(),
      firings: await store.listFirings({}, ALL),
      chains: (await store.listChains()).map((chain) => ({
        ...chain,
        problem: chain.problem && render(chain.problem)
      })),
      dueChains: await store.listDueChains(100),
      webhooks,
      deliveries: await Promise.all(webhooks.map(({ id }) => store.listDeliveries(id, ALL))),
      findings: await store.listFindings(),
      errorGroups: await store.listErrorGroups({}, { before: null, limit: 100, sinceMs: 0 }),
      storagePolicy: await store.getStoragePolicy(),
      answers: await Promise.all(['order-1', 'order-2'].map((key) => rememberedAnswer(store, key, clock))),
      ...(await readSettings(store)),
      blobs: await readBlobs()
    }
    for (const [text] of JSON.stringify(everything).matchAll(/v1\.[A-Za-z0-9+/=]{40,}/g)) sealed.add(asSealedText(text))
    const opened = await Promise.all([...sealed].map((text) => secrets.open(text)))
    const all = { ...everything, secrets: opened }
    return JSON.parse(JSON.stringify(all)) as typeof all
  } finally {
    await store.close()
  }

  async function readJobs() {
    const jobs = await store.listJobs({}, ALL)
    return Promise.all(
      jobs.map(async (job) => {
        const attempts = await store.listAttempts(job.id)
        const logs = await Promise.all(
          attempts.map(async ({ number, logArchived }) => {
            if (!logArchived) return null
            const log = (await store.findArchivedLog(job.id, number))!
            const whole = { offset: 0, limitBytes: Number.MAX_SAFE_INTEGER }
            return digest((await archive.read(job.id, number, log, whole))!.bytes)
          })
        )
        const figures = await Promise.all(attempts.map(({ number }) => store.findFigures(job.id, number)))
        const errors = await store.listErrorsOfJob(job.id, null, 0)
        const items = await Promise.all(attempts.map(({ number }) => store.findItems(job.id, number)))
        const timeline = (await store.listTimeline(job.id)).map(({ code, params, ...entry }) =>
          code === 'text' ? entry : { ...entry, code, params }
        )
        return { job, attempts, logs, items, figures, errors, timeline }
      })
    )
  }

  async function readBlobs() {
    const trees = await Promise.all(['eggs/', 'items/', 'logs/'].map((prefix) => blobs.list(prefix)))
    const all = trees.flat().sort((one, other) => (one.name < other.name ? -1 : 1))
    return Promise.all(all.map(async ({ name }) => ({ name, content: digest(await blobs.read(name)) })))
  }
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function rememberedAnswer(store: Store, key: string, clock: Clock) {
  const claim = { scope: 'key of a client', key, fingerprint: 'f', begunBy: 'reader', nowMs: clock.nowMs() }
  return store.claimAnswer({ ...claim, expiresAtMs: clock.nowMs(), quota: { ofScope: PLENTY, ofAll: PLENTY } })
}

async function readSettings(store: Store) {
  const page = { fromMs: 0, after: null, limit: ALL.limit }
  return {
    backfills: (await store.listBackfills()).sort((one, other) => one.fromMs - other.fromMs).reverse(),
    sources: await store.listSources(),
    vanishedNodes: Object.fromEntries((await store.listVanishedNodes()).map(({ nodeId, ...one }) => [nodeId, one])),
    limits: (await store.getLimits()).rules,
    users: (await store.listUsers()).map(({ passwordHash, ...user }) => ({
      ...user,
      hasPassword: passwordHash !== null
    })),
    accessTokens: await store.listAccessTokens(),
    groups: await store.listGroups(),
    roles: await store.listRoles(),
    authenticators: await store.listAuthenticators(),
    passkeys: await store.listPasskeys(),
    alertRules: await store.listAlertRules(),
    silences: await store.listSilences(),
    alerts: { ...(await store.readAlertMemory(0)), past: await store.listAlerts({}, ALL) },
    alertFacts: (await Promise.all(ALERT_WATCH_NAMES.map((watch) => store.listAlertFacts(watch, page)))).flat(),
    digests: await store.listDigests(),
    isPaused: await store.getSetting('paused')
  }
}
