import { type AnyContractProcedure, getEventIteratorSchemaDetails, isContractProcedure } from '@orpc/contract'
import { Readable } from 'node:stream'
import type { Router } from '@orpc/server'
import type { Engine } from '../../engine/index.ts'
import type { SharedAnswers } from '../../engine/cluster/cache/shared-answers.ts'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { Access } from '../../engine/access/access.ts'
import { Directory, type DirectoryStore } from '../../engine/access/directory.ts'
import { isGuessable } from '../../engine/access/password-strength/judge-password.ts'
import { SecondFactors } from '../../engine/access/second-factor/second-factors.ts'
import { SignIns } from '../../engine/access/sign-ins.ts'
import { Audit } from '../../engine/access/audit/audit.ts'
import { accessOperations, signInOperations } from '../../engine/api/router/access-operations.ts'
import { auditTicket } from '../../engine/access/acting.ts'
import { auditedStore } from '../../engine/storage/audit/audited-store.ts'
import { implementAll, implementWithRights } from '../../engine/api/router/required-rights.ts'
import type { SubjectReads } from '../../engine/api/router/subjects.ts'
import type { RouterContext } from '../../engine/api/router/router.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { asSealedText } from '../../engine/runtime/secret-box.ts'
import { systemRandom } from '../../engine/runtime/random.ts'
import { createFakeClock, type FakeClock } from '../../engine/testing/fake-clock.ts'
import { type Example, EXAMPLES, exampleOf } from '../../shared/examples/operations.ts'
import {
  contract,
  type Change,
  type ChangeBatch,
  type Contract,
  type Figures,
  type Job,
  type SealedText,
  type Version
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aJob } from '../../shared/testing/builders.ts'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import type { NewAuditEntry, NewAuditRecord } from '../../engine/model/records.ts'
import type { AuditStore, SecondFactorStore, Store } from '../../engine/storage/store.ts'
import { IncomingFiles } from '../../engine/storage/blobs/incoming-files.ts'
import { makeTestDirectory } from '../../engine/testing/test-directory.ts'
import { createFakeScrapyd, sha256 } from './fake-scrapyd.ts'

const CREDENTIALS = { username: 'scrapdeck', password: 'correct horse: battery' }

/**
 * Finds nothing, so users with rights in only some projects see none of the engine's data. access.foreign.test.ts uses
 * a real engine.
 */
const NOTHING: SubjectReads = {
  store: {
    getJobs: async () => [],
    getSchedules: async () => [],
    listChains: async () => [],
    projectsOfErrorGroups: async () => [],
    getAlerts: async () => []
  },
  environments: { list: () => [] },
  fleet: { get: () => undefined },
  alerts: { rules: () => [], silences: () => [] }
}

/** An engine in memory for tests of the server, which can produce every kind of call and failure. */
export function createFakeEngine() {
  const { scrapyd, ...fleet } = createFakeScrapyd()
  const batches: ChangeBatch[] = []
  const waiting = new Set<() => void>()
  const openStreams = { count: 0 }

  // Contains only the operations that tests of the server need. Other operations return their examples
  // (shared/examples/operations.ts).
  const accessClock = createFakeClock()
  const { audit, audited } = createFakeAudit(accessClock)
  const { access, secondFactors } = createFakeAccess(CREDENTIALS.username, accessClock, audited)
  const signIns = new SignIns({ access, clock: accessClock })
  const server = implementWithRights(NOTHING, audit)
  const own = {
    ...implementAll(server, { ...accessOperations(access, secondFactors), ...signInOperations(signIns) }),
    jobs: {
      list: server.jobs.list.handler(({ input }) => ({
        jobs: [aShopJob({ project: aProjectName(input.project ?? 'shop'), priority: input.limit })],
        nextBefore: null
      })),
      get: server.jobs.get.handler(({ input }) => {
        throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${input.id}.`, { data: { id: input.id } })
      }),
      run: server.jobs.run.handler(({ input }) => ({
        jobs: input.spiders.map((spider) => aShopJob({ project: input.project, spider, args: input.args ?? {} }))
      })),
      runMany: server.jobs.runMany.handler(({ input }) => ({
        ids: input.jobs.map((_job, index) => `019b${index.toString(16).padStart(28, '0')}`),
        deduplicated: 0
      })),
      count: server.jobs.count.handler(({ input }) => ({ status: [{ value: 'queued', count: input.ids.length }] })),
      cancel: server.jobs.cancel.handler(({ input }) => ({ asked: input.ids, alreadyEnded: [] })),
      // The server does not expect this error, so its text must not reach the client.
      retry: server.jobs.retry.handler(() => {
        throw new Error('secret detail in /home/anna')
      })
    },
    nodes: {
      list: server.nodes.list.handler(() => ({ nodes: [] })),
      remove: server.nodes.remove.handler(({ input }) => ({ removed: input.id })),
      cancelExternal: server.nodes.cancelExternal.handler(() => ({ wasState: 'pending' as const })),
      adoptExternal: server.nodes.adoptExternal.handler(({ input }) =>
        aShopJob({ project: input.project, jobid: input.jobid, source: 'adopted' })
      )
    },
    queue: {
      setLimits: server.queue.setLimits.handler(({ input }) => ({
        limits: input.limits.map((rule) => ({ ...rule, live: 0 }))
      })),
      lanes: server.queue.lanes.handler(() => ({ lanes: [], total: 0 }))
    },
    discovery: {
      put: server.discovery.put.handler(({ input: { password, ...settings } }) => ({
        ...EXAMPLES.discovery.put.output,
        ...settings,
        hasPassword: Boolean(password)
      }))
    },
    projects: {
      upload: server.projects.upload.handler(async ({ input }): Promise<Version & { pinnedVersion: null }> => {
        const bytes = new Uint8Array(await input.file.arrayBuffer())
        return {
          project: aProjectName(input.project ?? 'unnamed'),
          version: aVersionName(input.version ?? input.file.name),
          sha256: sha256(bytes),
          sizeBytes: bytes.length,
          spiders: null,
          createdAtMs: 0,
          orderWarning: null,
          pinnedVersion: null,
          deployments: []
        }
      }),
      deploy: server.projects.deploy.handler(async function* ({ input }) {
        yield { nodeId: 'eu-1', state: 'sending' as const, sha256: null, error: null, changedAtMs: 1 }
        throw new ScrapdeckError('VERSION_NOT_FOUND', `${input.project} has no version ${input.version}.`)
      })
    },
    schedules: {
      get: server.schedules.get.handler(({ input }) => {
        if (input.id === EXAMPLES.schedules.get.output.id) return EXAMPLES.schedules.get.output
        throw new ScrapdeckError('SCHEDULE_NOT_FOUND', `There is no schedule ${input.id}.`, { data: { id: input.id } })
      }),
      create: server.schedules.create.handler(({ input }) => ({
        schedule: { ...EXAMPLES.schedules.create.output.schedule, ...input }
      }))
    },
    webhooks: {
      create: server.webhooks.create.handler(({ input }) => {
        if (new URL(input.url).hostname === 'localhost')
          throw new ScrapdeckError('WEBHOOK_URL_FORBIDDEN', 'localhost is inside this machine.')
        const { webhook, secret } = EXAMPLES.webhooks.create.output
        return { webhook: { ...webhook, ...input }, secret }
      })
    },
    logs: {
      read: server.logs.read.handler(() => {
        throw new ScrapdeckError('STOPPING', 'The fake engine does not do this.')
      }),
      tail: server.logs.tail.handler(async function* () {
        throw new Error('secret detail of a stream')
      })
    },
    events: {
      subscribe: server.events.subscribe.handler(async function* ({ input, signal }) {
        openStreams.count += 1
        try {
          for (let next = Number(input.after ?? batches.length); !signal?.aborted; next++) {
            while (next >= batches.length && !signal?.aborted) await nextChange(waiting, signal)
            const batch = batches[next]
            if (batch !== undefined) yield batch
          }
        } finally {
          openStreams.count -= 1
        }
      })
    },
    system: {
      logOutEverywhere: server.system.logOutEverywhere.handler(async ({ context }) => ({
        ended: (await context.logOutEverywhere?.()) ?? 0
      })),
      setPaused: server.system.setPaused.handler(({ input }) => ({ paused: input.paused })),
      runDemo: server.system.runDemo.handler(() => ({ job: aShopJob() }))
    }
  }
  const router = server.router(withExamples(contract, own, server) as Router<Contract, RouterContext>)

  const remembered = new Map<string, string>()
  const answers: Engine['answers'] = {
    async once({ scope, key, fingerprint }, perform) {
      const name = JSON.stringify([scope, key])
      const earlier = remembered.get(name)
      if (earlier !== undefined) {
        const [first, text] = JSON.parse(earlier) as [string, string]
        if (first !== fingerprint) throw new ScrapdeckError('IDEMPOTENCY_KEY_REUSED', 'Used for another request.')
        return { text, isReplayed: true }
      }
      const { text, isFinal } = await perform()
      if (isFinal) remembered.set(name, JSON.stringify([fingerprint, text]))
      return { text, isReplayed: false }
    }
  }

  function addChanges(changes: Change[]): void {
    batches.push({ cursor: String(batches.length + 1), reset: false, changes })
    for (const wake of waiting) wake()
  }

  const healthNow = { live: true, ready: true, reasons: [] as string[] }
  return {
    router: async () => router,
    parts: router,
    scrapyd,
    cache: null as SharedCache | null,
    sharedAnswers: null as Pick<SharedAnswers, 'find'> | null,
    answers,
    crawlCacheSeconds: 3_600,
    pulling: {
      authenticate: () => null,
      get: () => undefined,
      messages: () => import('../../engine/nodes/pulling/messages.ts')
    },
    incoming: createLazyIncoming(),
    credentials: { ...CREDENTIALS },
    authenticate: null as Engine['authenticate'],
    access,
    secondFactors,
    signIns,
    audit,
    audited,
    accessClock,
    /** Returns an egg whose content is the token. */
    async openEgg(token: string) {
      if (token === 'expired') throw new ScrapdeckError('EGG_LINK_INVALID', 'This link to an egg is not valid')
      return { sha256: '', sizeBytes: token.length, open: async () => Readable.from([token]) }
    },
    address: null as string | null,
    setAddress(address: string) {
      this.address = address
    },
    certificate: null as { readonly endsAtMs: number } | null,
    setCertificate(certificate: { readonly endsAtMs: number } | null) {
      this.certificate = certificate
    },
    metrics: async () => '# HELP scrapdeck_info Always 1.\n# TYPE scrapdeck_info gauge\nscrapdeck_info 1\n',
    healthNow,
    health: { now: () => healthNow, check: async () => healthNow },
    ...fleet,
    openStreams,
    addBatch(figures: Figures) {
      addChanges([{ kind: 'figures', figures }])
    },
    addChanges
  }
}

/** Uses the real rules, with a store that only collects the audit entry of each write. */
function createFakeAccess(ownerName: string, clock: FakeClock, audited: NewAuditRecord[]) {
  const users: DirectoryStore = {
    getSetting: async () => null,
    putSetting: async () => {},
    listUsers: async () => [],
    putUser: async () => {},
    deleteUser: async () => true,
    listGroups: async () => [],
    putGroup: async () => {},
    deleteGroup: async () => true,
    listAccessTokens: async () => [],
    addAccessToken: async () => {},
    deleteAccessToken: async () => true,
    listRoles: async () => [],
    putRole: async () => {},
    deleteRole: async () => true,
    recordAccess: async () => {}
  }
  const withAudit = <T>({ text }: NewAuditEntry, call: () => Promise<T>): Promise<T> => {
    audited.push(JSON.parse(text) as NewAuditRecord)
    return call()
  }
  const store = auditedStore({ ...users, ...createFakeSecondFactorStore(), withAudit } as Store, auditTicket)
  const common = { store, clock, random: systemRandom, logger: silentLogger }
  const access = new Access(
    { ...common, ownerName, isGuessable: async (input) => isGuessable(input) },
    new Directory(store, [], [], [])
  )
  const secretBox = {
    seal: async (text: string) => asSealedText(text),
    open: async (text: SealedText) => text as string
  }
  return { access, secondFactors: new SecondFactors({ ...common, access, secretBox }, [], []) }
}

function createFakeSecondFactorStore(): SecondFactorStore {
  const steps = new Map<string, number>()
  const codes = new Map<string, Set<string>>()
  const counts = new Map<string, number>()
  return {
    listAuthenticators: async () => [],
    async putAuthenticator({ userId, usedStep, recoveryHashes }) {
      steps.set(userId, usedStep)
      codes.set(userId, new Set(recoveryHashes))
    },
    putRecoveryCodes: async (userId, hashes) => void codes.set(userId, new Set(hashes)),
    deleteAuthenticator: async (userId) => steps.delete(userId),
    async useAuthenticatorStep(userId, step) {
      if (step <= (steps.get(userId) ?? Number.POSITIVE_INFINITY)) return false
      steps.set(userId, step)
      return true
    },
    useRecoveryCode: async (userId, hash) => codes.get(userId)?.delete(hash) === true,
    listPasskeys: async () => [],
    addPasskey: async ({ id, signCount }) => void counts.set(id, signCount),
    async usePasskey(id, signCount) {
      const before = counts.get(id)
      if (before === undefined || (signCount <= before && signCount + before > 0)) return false
      counts.set(id, signCount)
      return true
    },
    deletePasskey: async (_userId, id) => counts.delete(id),
    deleteSecondFactors: async (userId) => steps.delete(userId)
  }
}

function createFakeAudit(clock: FakeClock) {
  const audited: NewAuditRecord[] = []
  const store = { appendAudit: async (record: NewAuditRecord) => void audited.push(record) } as Partial<AuditStore>
  const parts = { store: store as AuditStore, clock, random: systemRandom, logger: silentLogger, tokenName: () => null }
  return { audit: new Audit(parts), audited }
}

/** Uses real files, in a directory that a test's first upload creates. */
function createLazyIncoming(): Pick<IncomingFiles, 'begin' | 'toFile' | 'fromFile'> {
  let opened: IncomingFiles | null = null
  const open = () => (opened ??= IncomingFiles.open(makeTestDirectory()))
  return {
    begin: async () => open().begin(),
    toFile: async (...file) => open().toFile(...file),
    fromFile: async (file) => open().fromFile(file)
  }
}

export type FakeEngine = ReturnType<typeof createFakeEngine>

const aShopJob = (over: Partial<Job> = {}) =>
  aJob({ id: '019b0000000000000000000000000001', project: 'shop', spider: 'quotes', version: null, ...over })

type Operations = AnyContractProcedure | { [name: string]: Operations }

/** Returns a handler for each operation of the contract: its own, or one that returns the example. */
function withExamples(part: Operations, own: object | undefined, server: object, path: string[] = []): unknown {
  if (!isContractProcedure(part)) {
    const ownOf = (name: string) => (own as Record<string, object> | undefined)?.[name]
    return Object.fromEntries(
      Object.entries(part).map(([name, inner]) => [
        name,
        withExamples(inner, ownOf(name), (server as Record<string, object>)[name]!, [...path, name])
      ])
    )
  }
  if (own !== undefined) return own
  const { output } = exampleOf(path.join('.')) as Example
  const isStream = getEventIteratorSchemaDetails(part['~orpc'].outputSchema) !== undefined
  return (server as { handler(answer: () => unknown): unknown }).handler(
    isStream
      ? async function* () {
          yield output
        }
      : () => output
  )
}

export function someFigures(queued: number): Figures {
  return {
    sampledAtMs: 1,
    slotsTotal: 4,
    slotsUsed: 0,
    queued,
    starting: 0,
    running: 0,
    finishedLastHour: 0,
    failedLastHour: 0,
    jobsPerMinute: 0,
    loopP99Ms: 1,
    paused: false
  }
}

function nextChange(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      waiting.delete(wake)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    waiting.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}
