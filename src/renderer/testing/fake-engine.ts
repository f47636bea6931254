/**
 * An in-memory engine for tests and for looking at screens: the whole contract with realistic data, changed by
 * `step()` or by a timer. shared/testing/contract-cases.ts compares its responses with the real engine's.
 */
import { createRouterClient, implement, type Router } from '@orpc/server'
import {
  type Change,
  type Contract,
  contract,
  type Environment,
  type Job,
  type LimitRule,
  type Node,
  type OperationMeta,
  type Project,
  type Schedule,
  type SourceState
} from '../../shared/contract/index.ts'
import { aProjectName } from '../../shared/testing/ids.ts'
import type { Client } from '../api/wire.ts'
import { createFakeAlerts } from './fake-alerts.ts'
import { createFakeFindings } from './fake-findings.ts'
import { createFakeChains } from './fake-chains.ts'
import { createFakeChanges } from './fake-changes.ts'
import { createFakeDiscovery } from './fake-discovery.ts'
import { createFakeErrors } from './fake-errors.ts'
import { createFakeEnvironments } from './fake-environments.ts'
import { createFakeJobs } from './fake-jobs.ts'
import { createFakeFleetFile } from './fake-fleet-file.ts'
import { createFakeItems } from './fake-items.ts'
import { createFakeLogs } from './fake-logs.ts'
import { createFakeNodes } from './fake-nodes.ts'
import { createFakeProjects } from './fake-projects.ts'
import { createFakeQueue } from './fake-queue.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { createFakeSchedules } from './fake-schedules.ts'
import { createFakeEngines } from './fake-engines.ts'
import { createFakeStorage } from './fake-storage.ts'
import { createFakeSystem } from './fake-system.ts'
import { letTimePass } from './fake-time.ts'
import type { Role } from '../../shared/roles.ts'
import { createFakeAccess } from './fake-access.ts'
import { createFakeAudit } from './fake-audit.ts'
import { createFakeWebhooks } from './fake-webhooks.ts'
import { createFakeWorld, type FakeWorldOptions } from './fake-world.ts'

interface FakeEngineOptions extends FakeWorldOptions {
  role?: Role
  /** Roles in single projects, instead of one in all projects. */
  projectRoles?: Record<string, Role>
  /** Whether to behave like a service whose user is logged in with a browser. */
  isInBrowser?: boolean
  /** Milliseconds between live changes. 0: only `step()` makes changes. */
  liveEveryMs?: number
  hasSeveralEngines?: boolean
}

export interface FakeEngine {
  client: Client
  /** Handles the calls, for tests that use their own transport. */
  router: Router<Contract, Record<never, never>>
  jobs: Map<string, Job>
  nodes: Map<string, Node>
  projects: Map<string, Project>
  schedules: Map<string, Schedule>
  environments: Map<string, Environment>
  sources: Map<string, SourceState>
  limits: { rules: LimitRule[] }
  /** The names of the calls so far, in order: `jobs.cancel`. */
  calls: string[]
  /** Each named call fails with this error until the entry is deleted. */
  failures: Map<string, Error>
  /** Delays the responses to calls with this name until `release()`. */
  holdBack(name: string): { release(): void }
  emit(...changes: Change[]): void
  /** Breaks every open stream of changes, like a lost connection. */
  dropStreams(): void
  /** Expires all cursors so far: the next subscribe gets `reset`. */
  forgetChanges(): void
  step(): void
  stop(): void
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const { emit, dropStreams, forget, subscribe } = createFakeChanges()
  const world = createFakeWorld(options, emit)
  const { jobs, nodes, projects, sources, limits } = world
  const calls: string[] = []
  const failures = new Map<string, Error>()
  const heldBack = new Map<string, Promise<void>>()
  const queue = createFakeQueue(world)
  const schedules = createFakeSchedules(world)
  const { environments, environmentFor } = createFakeEnvironments(world)

  const audit = createFakeAudit(world)

  const os = implement(contract).use(async ({ next, path, procedure }, input) => {
    calls.push(path.join('.'))
    const failure = failures.get(path.join('.'))
    if (failure) throw failure
    await heldBack.get(path.join('.'))
    if ((procedure['~orpc'].meta as OperationMeta).writes) audit.record(path.join('.'), input)
    return next()
  })
  const router = os.router({
    jobs: { ...createFakeJobs(world), ...queue.jobs },
    crawl: os.crawl.handler(({ input }) => {
      const { id } = world.queueJob({
        project: aProjectName(input.project ?? 'prices'),
        spider: input.spider,
        source: 'crawl'
      })
      const logs_url = `/api/v1/jobs/${id}/logs`
      return { status: 200, body: { job_id: id, scheduled: false, cached: false, cached_at: null, logs_url } }
    }),
    // No screen calls these: a repeated crawl is shown as its schedule.
    crawlOrders: {
      list: os.crawlOrders.list.handler(() => ({ orders: [], next_after: null })),
      get: os.crawlOrders.get.handler(() => noCrawl()),
      update: os.crawlOrders.update.handler(() => noCrawl()),
      cancel: os.crawlOrders.cancel.handler(() => noCrawl())
    },
    nodes: createFakeNodes(world),
    projects: createFakeProjects(world, { publishWaiting: queue.publishWaiting, environmentFor }),
    queue: queue.queue,
    discovery: createFakeDiscovery(sources, emit),
    schedules: schedules.handlers,
    chains: createFakeChains(world),
    findings: createFakeFindings(world),
    ...createFakeAccess(world, options),
    audit: audit.handlers,
    webhooks: createFakeWebhooks(world),
    ...createFakeAlerts(),
    fleetFile: createFakeFleetFile(),
    environments,
    engines: createFakeEngines(options),
    storage: createFakeStorage(world),
    logs: createFakeLogs(world),
    items: createFakeItems(world),
    errors: createFakeErrors(world),
    events: { subscribe },
    system: createFakeSystem(world)
  })

  const { liveEveryMs = 0 } = options
  const step = () => {
    letTimePass(world)
    schedules.step()
  }
  const timer = liveEveryMs > 0 ? setInterval(step, liveEveryMs) : null
  return {
    client: createRouterClient(router) as Client,
    router,
    jobs,
    nodes,
    projects,
    schedules: schedules.schedules,
    environments: world.environments,
    sources,
    limits,
    calls,
    failures,
    holdBack: (name) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      heldBack.set(name, promise)
      return { release: resolve }
    },
    emit,
    dropStreams,
    forgetChanges: () => forget({ kind: 'figures', figures: world.figures() }),
    step,
    stop: () => {
      if (timer !== null) clearInterval(timer)
    }
  }
}

function noCrawl(): never {
  throw new ScrapdeckError('SCHEDULE_NOT_FOUND', 'There is no such crawl')
}
