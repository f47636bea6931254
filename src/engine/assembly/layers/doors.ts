import { DEFAULT_CRAWL_CACHE_SECONDS, type JobId, type NodeId } from '../../../shared/contract/index.ts'
import { RememberedAnswers } from '../../api/commands/remembered-answers.ts'
import { ChangeFeed } from '../../api/change-feed/change-feed.ts'
import { engineAlone } from '../../cluster/leadership/engine-alone.ts'
import { listRunning } from '../../api/router/list-running.ts'
import { describeStored, describeTouched } from '../../api/router/describe-changes.ts'
import type { EngineRouter } from '../../api/router/router.ts'
import { ScrapydCommands } from '../../api/scrapyd-commands/scrapyd-commands.ts'
import type { EngineOptions } from '../engine-options.ts'
import { hasLocalNode } from '../../nodes/local/optional-local-node.ts'
import type { wireRouter } from '../../api/router/open-router.ts'
import type { WithHealth } from './health.ts'

/** What src/server serves. */
export function openDoors(options: EngineOptions, below: WithHealth, opened: AsyncDisposableStack) {
  const { base, incoming, layout, projects, local, fleet, waiting, describe, schedules, figures, problems } = below
  const { jobCommands, projectCommands, systemCommands, jobLogs, stopping } = below
  const { store, random, secretBox } = base
  const { environments } = local
  const reads = {
    store,
    waiting,
    scheduleCommands: schedules.commands,
    scheduleReads: schedules.reads,
    listNodes: () => fleet.list().map(describe),
    listProjects: () => projects.describe()
  }
  const now = {
    figures: () => figures.current,
    problems: () => problems.current(),
    python: () => local.python(),
    environments,
    waiting,
    progressOf: (jobId: JobId) => below.collector.liveOf(jobId),
    findNode(id: NodeId) {
      const node = fleet.get(id)
      return node === undefined ? null : describe(node)
    }
  }
  const feed = new ChangeFeed({
    ...base,
    runId: random.hex(6),
    describeStored: (things) => describeStored(things, reads),
    describeTouched: async (things) => describeTouched(things, now)
  })
  opened.adopt(feed, (one) => one.close())
  const { crawlCacheSeconds = DEFAULT_CRAWL_CACHE_SECONDS } = options
  const routerParts: Omit<Parameters<typeof wireRouter>[0], 'jobItems'> = {
    ...base,
    ...reads,
    ...below,
    hasLocalNode: local.node !== null,
    hasEngines: below.engineNodes !== null,
    crawlCacheSeconds,
    chainCommands: below.chains.commands,
    errorGroups: below.errorGroups,
    listRunning: (seen) =>
      listRunning({ store, waiting, newestUsage: (jobid) => local.node?.usage.newestUsage(jobid) ?? null }, seen),
    feed,
    incoming,
    describeNode: describe,
    engines:
      options.leadership ??
      engineAlone({ ...options, startedAtMs: below.startedAtMs, hasLocalNode: hasLocalNode(options) }),
    environments,
    usageOf: (jobId) => local.usageOf(jobId),
    connect: options.seams?.connect,
    problems: now.problems,
    status: () => ({
      scrapdeckVersion: options.scrapdeckVersion,
      startedAtMs: below.startedAtMs,
      address: systemCommands.address,
      host: options.host,
      trustedEngines: options.trustedEngines ?? [],
      secrets: { store: secretBox.store, text: secretBox.description },
      python: local.python()
    })
  }
  let router: Promise<EngineRouter> | null = null
  // The contract, items and the search are a fifth of what a start loads, and no other endpoint needs them.
  const loadRouter = async () => {
    const { wireRouter } = await import('../../api/router/open-router.ts')
    return wireRouter({ ...routerParts, jobItems: await below.openItems() })
  }
  const directories = { logs: layout.logs, items: layout.itemFiles }
  const { itemsArchive, spiderLookup } = below
  const commands = { jobCommands, projectCommands, spiderLookup, itemsArchive }
  const scrapyd = new ScrapydCommands({
    ...{ ...base, ...commands, fleet, projects, jobLogs, directories },
    position: below.position
  })
  const answers = new RememberedAnswers({ ...base, newRunId: () => random.hex(6) })
  // Aborted first on stop: from here on, failures are expected because rooms are closing.
  opened.adopt(stopping, (one) => one.abort())
  return {
    feed,
    router: () => (router ??= loadRouter()),
    scrapyd,
    answers,
    crawlCacheSeconds,
    listNodes: reads.listNodes
  }
}
