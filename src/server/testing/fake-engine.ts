import { implement } from '@orpc/server'
import type { Engine } from '../../engine/index.ts'
import { job as exampleJob } from '../openapi/example-things.ts'
import { EXAMPLES } from '../openapi/examples.ts'
import {
  contract,
  type Change,
  type ChangeBatch,
  type Figures,
  type Job,
  type Version
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { createFakeScrapyd, sha256 } from './fake-scrapyd.ts'

/** An engine in memory for tests of the doors: enough of it that every shape of call and of failure can be made. */
export function createFakeEngine() {
  const { scrapyd, ...fleet } = createFakeScrapyd()
  const batches: ChangeBatch[] = []
  const waiting = new Set<() => void>()
  const openStreams = { count: 0 }

  const server = implement(contract)
  const unavailable = () => {
    throw new ScrapdeckError('STOPPING', 'The fake engine does not do this.')
  }
  // These answer with their examples (openapi/examples.ts): no door does anything of its own with them.
  const router = server.router({
    crawl: server.crawl.handler(() => EXAMPLES.crawl.output),
    jobs: {
      list: server.jobs.list.handler(({ input }) => ({
        jobs: [aFakeJob({ project: input.project ?? 'shop', priority: input.limit })],
        nextBefore: null
      })),
      facets: server.jobs.facets.handler(() => ({ status: [], project: [], nodeId: [] })),
      get: server.jobs.get.handler(({ input }) => {
        throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${input.id}.`, { data: { id: input.id } })
      }),
      status: server.jobs.status.handler(() => EXAMPLES.jobs.status.output),
      run: server.jobs.run.handler(({ input }) => ({
        jobs: input.spiders.map((spider) => aFakeJob({ project: input.project, spider, args: input.args ?? {} }))
      })),
      runMany: server.jobs.runMany.handler(({ input }) => ({
        ids: input.jobs.map((_job, index) => `019b${index.toString(16).padStart(28, '0')}`),
        deduplicated: 0
      })),
      count: server.jobs.count.handler(({ input }) => ({ status: [{ value: 'queued', count: input.ids.length }] })),
      setPriority: server.jobs.setPriority.handler(({ input }) => ({ changed: input.ids })),
      reorder: server.jobs.reorder.handler(({ input }) => ({ changed: input.ids })),
      place: server.jobs.place.handler(({ input }) => ({ changed: input.ids })),
      runElsewhere: server.jobs.runElsewhere.handler(({ input }) => ({ changed: input.ids })),
      cancel: server.jobs.cancel.handler(({ input }) => ({ asked: input.ids, alreadyEnded: [] })),
      restore: server.jobs.restore.handler(unavailable),
      usage: server.jobs.usage.handler(() => ({ samples: [] })),
      // A bug, as far as the doors can tell: its text must stay inside.
      retry: server.jobs.retry.handler(() => {
        throw new Error('secret detail in /home/somebody')
      })
    },
    nodes: {
      list: server.nodes.list.handler(() => ({ nodes: [] })),
      get: server.nodes.get.handler(unavailable),
      probe: server.nodes.probe.handler(unavailable),
      add: server.nodes.add.handler(unavailable),
      update: server.nodes.update.handler(unavailable),
      setMode: server.nodes.setMode.handler(unavailable),
      remove: server.nodes.remove.handler(({ input }) => ({ removed: input.id })),
      cancelExternal: server.nodes.cancelExternal.handler(() => ({ wasState: 'pending' as const })),
      adoptExternal: server.nodes.adoptExternal.handler(({ input }) =>
        aFakeJob({ project: input.project, jobid: input.jobid, source: 'adopted' })
      )
    },
    queue: {
      limits: server.queue.limits.handler(() => ({ limits: [] })),
      setLimits: server.queue.setLimits.handler(({ input }) => ({
        limits: input.limits.map((rule) => ({ ...rule, live: 0 }))
      })),
      lanes: server.queue.lanes.handler(() => ({ lanes: [], total: 0 }))
    },
    discovery: {
      list: server.discovery.list.handler(() => ({ sources: [] })),
      put: server.discovery.put.handler(({ input: { password, ...settings } }) => ({
        ...settings,
        hasPassword: Boolean(password),
        isFromConfiguration: false,
        refreshedAtMs: 1,
        problem: null,
        found: 0,
        vanished: 0,
        vanishedNodes: []
      })),
      remove: server.discovery.remove.handler(({ input }) => ({ removed: input.id })),
      refresh: server.discovery.refresh.handler(unavailable)
    },
    projects: {
      list: server.projects.list.handler(() => ({ projects: [] })),
      get: server.projects.get.handler(unavailable),
      upload: server.projects.upload.handler(async ({ input }): Promise<Version> => {
        const bytes = new Uint8Array(await input.file.arrayBuffer())
        return {
          project: input.project ?? 'unnamed',
          version: input.version ?? input.file.name,
          sha256: sha256(bytes),
          sizeBytes: bytes.length,
          spiders: null,
          createdAtMs: 0,
          orderWarning: null,
          deployments: []
        }
      }),
      configure: server.projects.configure.handler(unavailable),
      setPaused: server.projects.setPaused.handler(unavailable),
      deploy: server.projects.deploy.handler(async function* ({ input }) {
        yield { nodeId: 'eu-1', state: 'sending' as const, sha256: null, error: null, changedAtMs: 1 }
        throw new ScrapdeckError('VERSION_NOT_FOUND', `${input.project} has no version ${input.version}.`)
      }),
      deleteVersion: server.projects.deleteVersion.handler(() => ({ failedNodes: [] })),
      deleteProject: server.projects.deleteProject.handler(() => ({ failedNodes: [] }))
    },
    schedules: {
      list: server.schedules.list.handler(() => EXAMPLES.schedules.list.output),
      get: server.schedules.get.handler(({ input }) => {
        if (input.id === EXAMPLES.schedules.get.output.id) return EXAMPLES.schedules.get.output
        throw new ScrapdeckError('SCHEDULE_NOT_FOUND', `There is no schedule ${input.id}.`, { data: { id: input.id } })
      }),
      create: server.schedules.create.handler(({ input }) => ({
        schedule: { ...EXAMPLES.schedules.create.output.schedule, ...input }
      })),
      update: server.schedules.update.handler(() => EXAMPLES.schedules.update.output),
      remove: server.schedules.remove.handler(() => EXAMPLES.schedules.remove.output),
      setPaused: server.schedules.setPaused.handler(() => EXAMPLES.schedules.setPaused.output),
      runNow: server.schedules.runNow.handler(() => EXAMPLES.schedules.runNow.output),
      preview: server.schedules.preview.handler(() => EXAMPLES.schedules.preview.output),
      calendar: server.schedules.calendar.handler(() => EXAMPLES.schedules.calendar.output),
      load: server.schedules.load.handler(() => EXAMPLES.schedules.load.output),
      firings: server.schedules.firings.handler(() => EXAMPLES.schedules.firings.output),
      planBackfill: server.schedules.planBackfill.handler(() => EXAMPLES.schedules.planBackfill.output),
      backfill: server.schedules.backfill.handler(() => EXAMPLES.schedules.backfill.output),
      cancelBackfill: server.schedules.cancelBackfill.handler(() => EXAMPLES.schedules.cancelBackfill.output)
    },
    chains: {
      list: server.chains.list.handler(() => EXAMPLES.chains.list.output),
      create: server.chains.create.handler(() => EXAMPLES.chains.create.output),
      update: server.chains.update.handler(() => EXAMPLES.chains.update.output),
      remove: server.chains.remove.handler(() => EXAMPLES.chains.remove.output)
    },
    webhooks: {
      list: server.webhooks.list.handler(() => EXAMPLES.webhooks.list.output),
      create: server.webhooks.create.handler(({ input }) => {
        if (new URL(input.url).hostname === 'localhost')
          throw new ScrapdeckError('WEBHOOK_URL_FORBIDDEN', 'localhost is inside this machine.')
        const { webhook, secret } = EXAMPLES.webhooks.create.output
        return { webhook: { ...webhook, ...input }, secret }
      }),
      update: server.webhooks.update.handler(() => EXAMPLES.webhooks.update.output),
      remove: server.webhooks.remove.handler(() => EXAMPLES.webhooks.remove.output),
      rotate: server.webhooks.rotate.handler(() => EXAMPLES.webhooks.rotate.output),
      test: server.webhooks.test.handler(() => EXAMPLES.webhooks.test.output),
      deliveries: server.webhooks.deliveries.handler(() => EXAMPLES.webhooks.deliveries.output),
      replay: server.webhooks.replay.handler(() => EXAMPLES.webhooks.replay.output)
    },
    fleetFile: {
      export: server.fleetFile.export.handler(() => EXAMPLES.fleetFile.export.output),
      plan: server.fleetFile.plan.handler(() => EXAMPLES.fleetFile.plan.output),
      apply: server.fleetFile.apply.handler(() => EXAMPLES.fleetFile.apply.output)
    },
    environments: {
      list: server.environments.list.handler(() => ({ environments: [] })),
      log: server.environments.log.handler(unavailable),
      rebuild: server.environments.rebuild.handler(unavailable),
      remove: server.environments.remove.handler(unavailable)
    },
    logs: {
      read: server.logs.read.handler(unavailable),
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
      status: server.system.status.handler(unavailable),
      history: server.system.history.handler(() => ({ samples: [] })),
      credentials: server.system.credentials.handler(() => ({ ...credentials, address: null })),
      setPaused: server.system.setPaused.handler(({ input }) => ({ paused: input.paused })),
      runDemo: server.system.runDemo.handler(() => ({ job: aFakeJob({}) })),
      createEnvironment: server.system.createEnvironment.handler(async function* () {
        yield { text: 'Done', done: true, share: 1 }
      })
    }
  })

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
  const credentials = { username: 'scrapdeck', password: 'correct horse: battery' }
  return {
    router,
    scrapyd,
    answers,
    credentials,
    address: null as string | null,
    setAddress(address: string) {
      this.address = address
    },
    metrics: async () => '# HELP scrapdeck_info Always 1.\n# TYPE scrapdeck_info gauge\nscrapdeck_info 1\n',
    healthNow,
    health: { now: () => healthNow, look: async () => healthNow },
    /** What a test looks at and changes. */
    ...fleet,
    openStreams,
    addBatch(figures: Figures) {
      addChanges([{ kind: 'figures', figures }])
    },
    addChanges
  }
}

export type FakeEngine = ReturnType<typeof createFakeEngine>

function aFakeJob(changes: Partial<Job>): Job {
  return {
    ...exampleJob,
    id: '019b0000000000000000000000000001',
    jobid: '019b0000000000000000000000000001',
    spider: 'quotes',
    settings: {},
    args: {},
    placement: { nodeId: null, tags: [] },
    ...changes
  }
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
