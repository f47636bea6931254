import type { Router } from '@orpc/server'
import {
  type Contract,
  type Node,
  type NodeAddress,
  type NodeId,
  type Problem,
  type NewToken,
  type Project,
  type ProjectName,
  type SystemStatus,
  type RunningJob,
  type UsageSample,
  type JobId
} from '../../../shared/contract/index.ts'
import { noProject } from '../../projects/catalog.ts'
import type { Access } from '../../access/access.ts'
import type { SecondFactors } from '../../access/second-factor/second-factors.ts'
import type { SignIns } from '../../access/sign-ins.ts'
import type { IncomingFiles } from '../../storage/blobs/incoming-files.ts'
import type { CrawlCommands } from '../commands/crawl-commands.ts'
import type { ChainCommands } from '../commands/chain-commands.ts'
import type { JobCommands } from '../commands/job-commands.ts'
import type { NodeCommands } from '../commands/node-commands.ts'
import type { Origin } from '../commands/prepare-jobs.ts'
import type { ProjectCommands } from '../commands/project-commands.ts'
import type { QueueCommands } from '../commands/queue-commands.ts'
import type { ScheduleCommands } from '../commands/schedule-commands.ts'
import type { ScheduleReads } from '../commands/schedule-reads.ts'
import type { SystemCommands } from '../commands/system-commands.ts'
import type { WebhookCommands } from '../commands/webhook-commands.ts'
import { requireRightsForAddress } from '../commands/connection-rules.ts'
import type { ChangeFeed } from '../change-feed/change-feed.ts'
import type { Retention } from '../../maintenance/retention/retention.ts'
import type { FleetFiles } from '../fleet-file/fleet-file.ts'
import type { Environments } from '../../nodes/local/pythons/environments.ts'
import type { Leadership } from '../../cluster/leadership/leadership.ts'
import type { JobItems } from '../../runs/items/job-items.ts'
import type { Discovery } from '../../nodes/discovery/discovery.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import type { ErrorGroups } from '../../runs/log-collector/error-groups.ts'
import type { JobFigures } from '../../runs/log-collector/job-figures.ts'
import type { JobLogs } from '../../runs/logs/job-logs.ts'
import type { LogZips } from '../../runs/logs/log-zips.ts'
import type { FleetSearch } from '../../runs/search/fleet-search.ts'
import type { ProbedNode } from '../../nodes/scrapyd/probe.ts'
import type { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { largeBytesOf } from '../../model/records.ts'
import { requireJob } from '../../storage/require-job.ts'
import { seenNodeGroups, seenProjects } from '../../access/rights.ts'
import type { SubjectReads } from './subjects.ts'
import type { RouterContext } from './router-context.ts'
import type { Alerts } from '../../monitoring/alerts/alerts.ts'
import type { Evidence } from '../../monitoring/alerts/evidence/evidence.ts'
import type { Reports } from '../../monitoring/alerts/report/reports.ts'
import type { AlertCommands } from '../commands/alert-commands.ts'
import { alertOperations } from './alert-operations.ts'
import { accessOperations, signInOperations } from './access-operations.ts'
import type { Audit } from '../../access/audit/audit.ts'
import { implementAll, implementWithRights } from './required-rights.ts'
import * as only from './seen.ts'
import type { AlertStore, AttemptReader, JobReader } from '../../storage/store.ts'
import type { ExpectationWatch } from '../../monitoring/expectations/expectation-watch.ts'
import type { FiguresSampler } from '../../monitoring/health/figures.ts'

export type { RouterContext, SessionsOfCaller } from './router-context.ts'
export type EngineRouter = Router<Contract, RouterContext>

export interface RouterParts {
  store: JobReader & AttemptReader & AlertStore & SubjectReads['store']
  waiting: WaitingReasons
  jobCommands: JobCommands
  crawlCommands: CrawlCommands
  nodeCommands: NodeCommands
  projectCommands: ProjectCommands
  systemCommands: SystemCommands
  discovery: Discovery
  fleet: SubjectReads['fleet']
  queueCommands: QueueCommands
  scheduleCommands: ScheduleCommands
  scheduleReads: ScheduleReads
  chainCommands: ChainCommands
  fleetFiles: FleetFiles
  webhookCommands: WebhookCommands
  alerts: Alerts
  alertCommands: AlertCommands
  reports: Reports
  evidence: Evidence
  retention: Retention
  engines: Pick<Leadership, 'list' | 'handOver' | 'setDrained'>
  jobLogs: JobLogs
  logZips: LogZips
  jobItems: JobItems
  fleetSearch: FleetSearch
  feed: ChangeFeed
  figures: FiguresSampler
  incoming: IncomingFiles
  describeNode: (node: FleetNode) => Node
  listNodes: () => Node[]
  listProjects: () => Project[]
  probe: (address: NodeAddress) => Promise<ProbedNode>
  problems: () => Problem[]
  environments: Environments
  usageOf: (jobId: JobId) => Promise<UsageSample[]>
  jobFigures: JobFigures
  errorGroups: ErrorGroups
  listRunning: (seen: only.Seen) => Promise<{ jobs: RunningJob[]; total: number }>
  expectations: Pick<ExpectationWatch, 'current' | 'ofJob' | 'dismiss'>
  access: Access
  secondFactors: SecondFactors
  signIns: SignIns
  audit: Audit
  status: () => Omit<SystemStatus, 'figures' | 'problems'>
}

/** The maximum size of a page. A page that exceeds it ends early. */
const LIST_MAX_BYTES = 4_000_000

export function createRouter(parts: RouterParts): EngineRouter {
  const { store, waiting, jobCommands, nodeCommands, projectCommands, systemCommands, discovery, queueCommands } = parts
  const {
    access,
    signIns,
    scheduleCommands,
    scheduleReads,
    chainCommands,
    fleetFiles,
    webhookCommands,
    jobLogs,
    logZips,
    jobItems,
    feed,
    figures
  } = parts
  const os = implementWithRights(
    { store, environments: parts.environments, fleet: parts.fleet, alerts: parts.alerts },
    parts.audit
  )

  const describeFor = (context: RouterContext, node: FleetNode): Node =>
    only.seenNode(parts.describeNode(node), seenBy(context))

  function describeToken(context: RouterContext, { node, token }: { node: FleetNode; token: string }): NewToken {
    return { node: describeFor(context, node), token }
  }

  function requireProject(name: ProjectName): Project {
    const project = parts.listProjects().find((candidate) => candidate.name === name)
    if (project === undefined) throw noProject(name)
    return project
  }

  const unreachableNodes = () =>
    parts.listNodes().flatMap(({ id, unreachableSinceMs }) => (unreachableSinceMs === null ? [] : [id]))
  const tagsOf = (id: NodeId) => parts.fleet.get(id)?.stored.tags
  const viewOf = ({ principal: { rights } }: RouterContext): only.View => ({
    projects: seenProjects(rights),
    nodes: seenNodeGroups(rights),
    ownNodes: new Set(rights.inNodeGroups.keys()),
    tagsOf
  })
  const figuresOf = (context: RouterContext) => figures.of(seenBy(context), nodesSeenBy(context))

  async function* subscribe(after: string | undefined, context: RouterContext, signal: AbortSignal | undefined) {
    const reads = { store, figuresOf: () => figuresOf(context) }
    const see = only.seeChanges(viewOf(context), parts.listNodes(), reads)
    // Nodes may have left the caller's groups since the cursor `after`, and no change reports that.
    let isStale = after !== undefined && nodesSeenBy(context) !== null
    for await (const batch of feed.subscribe(after, signal)) {
      yield { ...batch, reset: batch.reset || isStale, changes: await see(batch.changes) }
      isStale = false
    }
  }

  return implementAll(os, {
    crawl: ({ input, context }) => parts.crawlCommands.crawl(input, originOf(context)),
    crawlOrders: {
      list: ({ input, context }) => parts.crawlCommands.list({ ...input, ...onlyOf(context) }),
      get: ({ input }) => parts.crawlCommands.get(input.id),
      update: ({ input }) => parts.crawlCommands.update(input),
      cancel: ({ input }) => parts.crawlCommands.cancel(input.id)
    },
    jobs: {
      list: async ({ input, context }) => {
        const { before, limit, ...filter } = input
        const rows = await store.listJobs(
          { ...filter, ...onlyOf(context), unreachableNodes: unreachableNodes() },
          {
            before: before ?? null,
            limit: limit + 1,
            maxBytes: LIST_MAX_BYTES
          }
        )
        const page = rows.slice(0, limit)
        const isCut = rows.length > limit || largeBytesOf(page) >= LIST_MAX_BYTES
        return {
          jobs: await only.seenJobs(
            page.map((job) => waiting.describeJob(job)),
            seenBy(context),
            parts
          ),
          nextBefore: isCut ? page.at(-1)!.id : null
        }
      },
      facets: ({ input, context }) =>
        store.countFacets({ ...input, ...onlyOf(context), unreachableNodes: unreachableNodes() }),
      get: async ({ input, context }) => {
        const seen = seenBy(context)
        const job = await requireJob(store, input.id)
        const [attempts, timeline] = await Promise.all([store.listAttempts(input.id), store.listTimeline(input.id)])
        return {
          job: await only.seenJob(waiting.describeJob(job), seen, parts),
          attempts,
          timeline: await only.seenTimeline(timeline, seen, parts)
        }
      },
      status: async ({ input, context }) =>
        only.seenJob(waiting.describeJob(await requireJob(store, input.id)), seenBy(context), parts),
      run: async ({ input, context }) => ({
        jobs: await only.seenJobs(await jobCommands.run(input, originOf(context)), seenBy(context), parts)
      }),
      runMany: ({ input, context }) => jobCommands.runMany(input.jobs, originOf(context)),
      count: async ({ input }) => {
        const counts = Object.entries(await store.countStatuses(input.ids))
        return { status: counts.map(([value, count]) => ({ value, count })) }
      },
      keep: async ({ input }) => ({ changed: await jobCommands.keep(input.ids, input.keep) }),
      setPriority: async ({ input }) => ({
        changed: await jobCommands.setPriority(input.ids, input.priority)
      }),
      reorder: async ({ input }) => ({
        changed: await jobCommands.moveInQueue(input.ids, input.to)
      }),
      place: async ({ input: { ids, ...placement } }) => ({
        changed: await jobCommands.setPlacement(ids, placement)
      }),
      runElsewhere: async ({ input }) => ({
        changed: await jobCommands.runElsewhere(input.ids)
      }),
      cancel: ({ input }) => jobCommands.cancel(input.ids, input),
      restore: async ({ input }) => ({ restored: await jobCommands.restore(input.ids) }),
      running: ({ context }) => parts.listRunning(seenBy(context)),
      usage: async ({ input }) => ({ samples: await parts.usageOf(input.id) }),
      figures: ({ input }) => parts.jobFigures.of(input.id, input.attemptNumber),
      retry: async ({ input }) => ({ jobs: await jobCommands.queueCopies(input.ids) })
    },
    nodes: {
      list: ({ context }) => ({
        nodes: parts
          .listNodes()
          .filter((node) => only.isNodeSeen(nodesSeenBy(context), node))
          .map((node) => only.seenNode(node, seenBy(context)))
      }),
      get: ({ input, context }) => describeFor(context, nodeCommands.require(input.id)),
      probe: async ({ input: { nodeId, ...given }, context }) => {
        if (nodeId === undefined) requireRightsForAddress(given)
        const tried = nodeId === undefined ? null : await nodeCommands.addressLike(nodeId, given)
        const result = await parts.probe(tried?.address ?? given)
        const duplicate = nodeCommands.findByUrl(result.url)?.stored
        const isSeen = duplicate !== undefined && only.isNodeSeen(nodesSeenBy(context), duplicate)
        return {
          ...result,
          projects: result.projects.filter((project) => only.isSeen(seenBy(context), project as ProjectName)),
          duplicateOf: isSeen ? duplicate.id : null,
          keepsPassword: tried?.keepsPassword ?? null
        }
      },
      add: async ({ input, context }) => {
        requireRightsForAddress(input)
        const { scrapydVersion } = await parts.probe(input)
        return describeFor(context, await nodeCommands.add({ ...input, scrapydVersion }))
      },
      addPulling: async ({ input, context }) => describeToken(context, await nodeCommands.addPulling(input)),
      renewToken: async ({ input, context }) => describeToken(context, await nodeCommands.renewToken(input.id)),
      revokeToken: async ({ input, context }) => describeFor(context, await nodeCommands.revokeToken(input.id)),
      update: async ({ input: { id, ...changes }, context }) =>
        describeFor(context, await nodeCommands.update(id, changes)),
      setMode: async ({ input, context }) => describeFor(context, await nodeCommands.setMode(input.id, input.mode)),
      remove: async ({ input }) => {
        await nodeCommands.remove(input.id, { force: input.force })
        return { removed: input.id }
      },
      cancelExternal: async ({ input: { id, ...run } }) => ({
        wasState: await nodeCommands.cancelExternal(id, run)
      }),
      adoptExternal: async ({ input: { id, ...run } }) => waiting.describeJob(await nodeCommands.adoptExternal(id, run))
    },
    queue: {
      limits: ({ context }) => ({
        limits: nodesSeenBy(context) === null ? only.seenLimits(queueCommands.limits(), seenBy(context)) : []
      }),
      setLimits: async ({ input }) => ({
        limits: await queueCommands.setLimits(input.limits)
      }),
      lanes: ({ input, context }) => queueCommands.lanes(input.limit, onlyOf(context))
    },
    schedules: {
      list: async ({ input, context }) => {
        const page = await scheduleReads.list({ ...input, ...onlyOf(context) })
        return { ...page, schedules: await only.seenSchedules(page.schedules, seenBy(context), parts) }
      },
      get: async ({ input, context }) => only.seenSchedule(await scheduleReads.get(input.id), seenBy(context), parts),
      create: async ({ input: { replace, ...settings }, context }) => {
        const schedule = await scheduleCommands.create(settings, { namesake: replace ? 'replace' : 'refuse' })
        return { schedule: await only.seenSchedule(schedule, seenBy(context), parts) }
      },
      update: async ({ input: { id, revision, ...settings }, context }) => {
        const schedule = await scheduleCommands.update(id, settings, revision)
        return { schedule: await only.seenSchedule(schedule, seenBy(context), parts) }
      },
      remove: async ({ input }) => ({ removed: await scheduleCommands.remove(input.ids) }),
      setPaused: async ({ input, context }) => {
        const schedules = await scheduleCommands.setPaused(input.ids, input.paused, input.note)
        return { schedules: await only.seenSchedules(schedules, seenBy(context), parts) }
      },
      runNow: async ({ input }) => ({ firing: await scheduleCommands.runNow(input.id) }),
      preview: ({ input }) => scheduleReads.preview(input.timing, input),
      calendar: ({ input, context }) => scheduleReads.calendar({ ...input, ...onlyOf(context) }),
      load: ({ input, context }) => scheduleReads.load({ ...input, ...onlyOf(context) }),
      firings: async ({ input, context }) =>
        only.seenFiringsOf(await scheduleReads.firings({ ...input, ...onlyOf(context) }), seenBy(context), parts),
      planBackfill: ({ input: { id, ...range } }) => scheduleReads.planBackfill(id, range),
      backfill: async ({ input: { id, ...range } }) => ({
        backfill: await scheduleCommands.backfill(id, range)
      }),
      cancelBackfill: async ({ input }) => ({
        backfill: await scheduleCommands.cancelBackfill(input.id, input)
      })
    },
    findings: {
      list: ({ context }) => ({
        spiders: parts.expectations.current().filter(({ project }) => only.isSeen(seenBy(context), project))
      }),
      ofJob: ({ input }) => parts.expectations.ofJob(input.id),
      dismiss: async ({ input }) => ({
        dismissed: await parts.expectations.dismiss(input)
      })
    },
    chains: {
      list: async ({ context }) => ({
        chains: await only.seenChains(await chainCommands.list(), seenBy(context), parts)
      }),
      create: async ({ input }) => ({ chain: await chainCommands.create(input) }),
      update: async ({ input: { id, ...settings } }) => ({
        chain: await chainCommands.update(id, settings)
      }),
      remove: async ({ input }) => ({ removed: await chainCommands.remove(input.id) })
    },
    fleetFile: {
      export: async () => ({ yaml: await fleetFiles.export() }),
      plan: async ({ input }) => ({
        changes: await fleetFiles.plan(input.yaml, input.prune)
      }),
      apply: async ({ input }) => ({
        changes: await fleetFiles.apply(input.yaml, input.prune)
      })
    },
    discovery: {
      list: ({ context }) => ({
        sources: nodesSeenBy(context) === null ? discovery.list() : []
      }),
      put: ({ input: { password, ...settings } }) => discovery.put(settings, password),
      remove: async ({ input }) => {
        await discovery.remove(input.id)
        return { removed: input.id }
      },
      refresh: ({ input }) => discovery.refresh(input.id)
    },
    projects: {
      list: ({ context }) => ({
        projects: parts.listProjects().filter(({ name }) => only.isSeen(seenBy(context), name))
      }),
      get: ({ input }) => requireProject(input.project),
      upload: async ({ input }) => {
        await using archive = await parts.incoming.fromFile(input.file)
        const stored = await projectCommands.upload(archive, { project: input.project, version: input.version })
        const { versions, settings } = requireProject(stored.project)
        const version = versions.find((candidate) => candidate.version === stored.version)!
        return { ...version, pinnedVersion: settings.pinnedVersion ?? null }
      },
      deploy: ({ input }) => projectCommands.deploy(input.project, input.version, input.nodeIds),
      configure: ({ input }) => projectCommands.configure(input.project, input.settings),
      changeSettings: ({ input }) => projectCommands.changeSettings(input.project, input.settings),
      setPaused: ({ input }) => projectCommands.setPaused(input.project, input.paused),
      pinVersion: ({ input }) => projectCommands.pinVersion(input.project, input.version),
      deleteVersion: async ({ input }) => ({
        failedNodes: await projectCommands.deleteVersion(input.project, input.version)
      }),
      deleteProject: async ({ input }) => ({
        failedNodes: await projectCommands.deleteProject(input.project)
      })
    },
    webhooks: {
      list: async () => ({ webhooks: await webhookCommands.list() }),
      create: ({ input }) => webhookCommands.create(input),
      update: async ({ input }) => ({ webhook: await webhookCommands.update(input) }),
      remove: async ({ input }) => ({ removed: await webhookCommands.remove(input.id) }),
      rotate: ({ input }) => webhookCommands.rotate(input.id),
      test: ({ input }) => webhookCommands.test(input.id),
      deliveries: ({ input }) => webhookCommands.deliveries(input),
      replay: async ({ input }) => ({
        replayed: await webhookCommands.replay(input.id, input.deliveryIds)
      })
    },
    ...alertOperations(parts),
    engines: {
      list: async ({ context }) => only.seenEngines(await parts.engines.list(), nodesSeenBy(context)),
      handOver: async ({ input }) => {
        await parts.engines.handOver(input.to ?? null)
        return { handedOver: true }
      },
      drain: async ({ input }) => {
        await parts.engines.setDrained(input.id, input.drained)
        return { drained: input.drained }
      }
    },
    storage: {
      usage: async ({ context }) => only.seenUsage(await parts.retention.usage(), seenBy(context)),
      policy: ({ context }) => {
        const { revision, policy } = parts.retention.policy()
        return { revision, policy: only.seenPolicy(policy, seenBy(context)) }
      },
      setPolicy: ({ input }) => parts.retention.setPolicy(input),
      preview: async ({ input, context }) =>
        only.seenPreview(await parts.retention.preview(input.policy), seenBy(context)),
      run: () => ({ started: parts.retention.run() }),
      compact: () => parts.retention.compact()
    },
    environments: {
      list: ({ context }) => ({
        environments:
          nodesSeenBy(context) === null ? only.seenEnvironments(parts.environments.list(), seenBy(context)) : []
      }),
      log: ({ input, signal }) => parts.environments.log(input.id, signal),
      rebuild: ({ input }) => parts.environments.rebuild(input.id),
      remove: async ({ input }) => {
        await parts.environments.remove(input.id)
        return { removed: input.id }
      }
    },
    logs: {
      read: ({ input, signal }) => {
        const { jobId, attemptNumber, offset, limitBytes, printed } = input
        const what = printed === true ? 'readPrinted' : undefined
        return jobLogs.readChunk(jobId, attemptNumber, { offset, limitBytes }, signal, what)
      },
      tail: ({ input: { jobId, ...options }, signal }) => jobLogs.tail(jobId, { ...options, signal }),
      locate: ({ input: { jobId, attemptNumber, ...wanted }, signal }) =>
        jobLogs.locate(jobId, attemptNumber, wanted, signal),
      search: ({ input: { jobId, attemptNumber, mostLines, ...query }, signal }) =>
        jobLogs.search(jobId, attemptNumber, query, { mostLines, signal }),
      zip: ({ input, signal }) => logZips.zip(input.jobIds, signal),
      searchAll: ({ input, context, signal }) => parts.fleetSearch.run({ ...input, ...onlyOf(context) }, signal)
    },
    items: {
      describe: ({ input: { count, ...wanted }, signal }) => jobItems.describe(wanted, count, signal),
      page: ({ input: { jobId, attemptNumber, columns = null, sort = null, ...page }, signal }) =>
        jobItems.page({ jobId, attemptNumber }, { ...page, columns, sort }, signal),
      read: ({ input: { index, ...wanted }, signal }) => jobItems.read(wanted, index, signal),
      fieldStatistics: ({ input: { field, ...wanted }, signal }) => jobItems.fieldStatistics(wanted, field, signal),
      diff: ({ input: { before, key = null, ...wanted }, signal }) => jobItems.diff(wanted, before, key, signal),
      export: ({ input: { format, filter, ...wanted }, signal }) => jobItems.export(wanted, { format, filter }, signal),
      readExport: ({ input }) => jobItems.readExport(input.id, input.offset)
    },
    errors: {
      list: ({ input, context }) => parts.errorGroups.list({ ...input, ...onlyOf(context) }),
      get: ({ input }) => parts.errorGroups.get(input.id),
      ofJob: ({ input }) => parts.errorGroups.ofJob(input.jobId, input.attemptNumber),
      setState: ({ input }) => parts.errorGroups.setState(input.ids, input.state)
    },
    events: {
      subscribe: ({ input, context, signal }) => subscribe(input.after, context, signal)
    },
    ...accessOperations(access, parts.secondFactors),
    ...signInOperations(signIns),
    audit: {
      list: ({ input: { before = null, limit, ...filter } }) => parts.audit.list(filter, { before, limit }),
      export: ({ input }) => parts.audit.export(input.after, input.limit),
      verify: ({ input, signal }) => parts.audit.verify(input.expect ?? null, signal)
    },
    system: {
      status: async ({ context }) => ({
        ...parts.status(),
        secrets: only.seenSecrets(parts.status().secrets, seenBy(context)),
        ...(nodesSeenBy(context) === null ? {} : { python: only.HIDDEN_PYTHON }),
        figures: await figuresOf(context),
        problems: only.seenProblems(parts.problems(), viewOf(context))
      }),
      history: ({ context }) => ({
        samples: seenBy(context) === null ? figures.history : []
      }),
      logOutEverywhere: async ({ context }) => ({
        ended: (await context.logOutEverywhere?.()) ?? 0
      }),
      setPaused: async ({ input }) => {
        await systemCommands.setPaused(input.paused)
        await figures.refresh()
        return { paused: input.paused }
      },
      runDemo: async () => ({ job: await systemCommands.runDemo() }),
      createEnvironment: ({ signal }) => systemCommands.createEnvironment(signal)
    }
  })
}

const seenBy = ({ principal }: RouterContext): only.Seen => seenProjects(principal.rights)
const nodesSeenBy = ({ principal }: RouterContext): only.SeenNodes => seenNodeGroups(principal.rights)
const onlyOf = (context: RouterContext) => only.onlySeen(seenBy(context))

function originOf({ source, onceKey }: RouterContext): Origin {
  return { source, onceKey }
}
