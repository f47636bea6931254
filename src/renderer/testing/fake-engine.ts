/**
 * An engine in memory for tests and for looking at screens: the whole contract over believable data, changed by
 * `step()` or by a timer. It decides nothing the way the real engine does; it only has the same form.
 */
import { createRouterClient, implement, type Router } from '@orpc/server'
import {
  type Change,
  type ChangeBatch,
  type Contract,
  contract,
  DEFAULT_PROJECT_SETTINGS,
  type Environment,
  type Figures,
  type Job,
  type LimitRule,
  type Node,
  type Problem,
  type Project,
  type ProjectSettings,
  type PythonState,
  type SourceState,
  type SystemStatus
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { jobMatches } from '../api/job-filter.ts'
import type { Client } from '../api/wire.ts'
import {
  aJob,
  aNode,
  fakeDetail,
  fakeJobs,
  fakeLogLine,
  fakeNodes,
  fakeProjects,
  jobIdAt,
  SPIDERS,
  fakeLimits,
  seededRandom
} from './fake-fleet.ts'
import { createFakeDiscovery, fakeSources } from './fake-discovery.ts'
import { createFakeQueue, jobOfItem } from './fake-queue.ts'
import { BUILD_LOG, COLD, fakeEnvironments, fakeUsage, WARM } from './fake-local-node.ts'

interface FakeEngineOptions {
  nodeCount?: number
  jobCount?: number
  seed?: number
  /** Milliseconds between live changes; 0: only `step()` changes anything. */
  liveEveryMs?: number
  python?: PythonState['state']
  /** Only the local node, no projects, no jobs. */
  firstRun?: boolean
  /** How long each step of making an environment takes. */
  stepMs?: number
}

export interface FakeEngine {
  client: Client
  /** For wires of its own: what answers the calls. */
  router: Router<Contract, Record<never, never>>
  jobs: Map<string, Job>
  nodes: Map<string, Node>
  projects: Map<string, Project>
  environments: Map<string, Environment>
  sources: Map<string, SourceState>
  limits: { rules: LimitRule[] }
  /** Names of the calls made, in order: `jobs.cancel`. */
  calls: string[]
  /** Each named call fails with this error until it is deleted. */
  failures: Map<string, Error>
  /** Calls of that name are answered only when it is let go. */
  holdBack(name: string): { release(): void }
  emit(...changes: Change[]): void
  /** Breaks every open stream of changes, as a lost connection does. */
  dropStreams(): void
  /** Cursors given out so far are too old: the next subscribe gets `reset`. */
  forgetChanges(): void
  step(): void
  stop(): void
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const { firstRun = false, seed = 7, liveEveryMs = 0, python: pythonState = 'ready', stepMs = 700 } = options
  const random = seededRandom(seed)
  const nowMs = Date.now()
  const nodeList = fakeNodes(firstRun ? 1 : (options.nodeCount ?? 12), nowMs)
  const jobs = new Map(
    firstRun ? [] : fakeJobs(options.jobCount ?? 200, nodeList, nowMs, random).map((job) => [job.id, job])
  )
  const nodes = new Map(nodeList.map((node) => [node.id, node]))
  const projects = new Map(firstRun ? [] : fakeProjects(nodeList, nowMs).map((project) => [project.name, project]))
  const environments = new Map(
    (pythonState === 'ready' ? fakeEnvironments(nowMs) : []).map((environment) => [environment.id, environment])
  )
  const sources = new Map((firstRun ? [] : fakeSources(nowMs)).map((source) => [source.id, source]))
  const limits: { rules: LimitRule[] } = { rules: firstRun ? [] : fakeLimits() }
  const calls: string[] = []
  const failures = new Map<string, Error>()
  const heldBack = new Map<string, Promise<void>>()
  let paused = false
  let number = 10_000
  let python: PythonState =
    pythonState === 'ready'
      ? {
          state: 'ready',
          path: '.venv/bin/python',
          version: '3.13.2',
          scrapyVersion: '2.13.3',
          start: WARM,
          problem: null
        }
      : {
          state: pythonState,
          path: null,
          version: null,
          scrapyVersion: null,
          start: COLD,
          problem: 'Python 3.13 is here, but Scrapy is not. Create an environment to run spiders on this computer.'
        }

  // The row of changes; a cursor is a place in it.
  let firstKept = 0
  const changes: Change[] = []
  const wakers = new Set<(dropped: boolean) => void>()
  const emit = (...added: Change[]) => {
    changes.push(...added)
    for (const wake of [...wakers]) wake(false)
  }

  function figures(): Figures {
    const all = [...jobs.values()]
    const up = [...nodes.values()]
    const hourAgo = Date.now() - 3_600_000
    const ended = all.filter((job) => job.endedAtMs !== null && job.endedAtMs > hourAgo)
    return {
      sampledAtMs: Date.now(),
      slotsTotal: up.reduce((sum, node) => sum + node.slots, 0),
      slotsUsed: up.reduce((sum, node) => sum + node.runs.length, 0),
      queued: all.filter((job) => job.status === 'queued').length,
      starting: all.filter((job) => job.status === 'starting').length,
      running: all.filter((job) => job.status === 'running').length,
      finishedLastHour: firstRun ? ended.length : 18_730,
      failedLastHour: ended.filter((job) => job.outcome === 'failed').length,
      jobsPerMinute: firstRun ? 0 : 312,
      loopP99Ms: 2,
      paused
    }
  }

  function problems(): Problem[] {
    const list: Problem[] = []
    const blank = { sinceMs: Date.now() - 252_000, nodeId: null, project: null, spider: null, mend: null }
    for (const node of nodes.values()) {
      const stuckText = 'it accepts jobs but has started none; restart Scrapyd there, or cordon it'
      const text = node.problem ?? (node.stuckSinceMs === null ? null : stuckText)
      if (text !== null)
        list.push({
          ...blank,
          id: `node-${node.id}`,
          severity: 'error',
          title: `${node.name} is ${node.stuckSinceMs === null ? node.health : 'stuck'}`,
          text,
          nodeId: node.id,
          mend:
            node.stuckSinceMs !== null
              ? 'cordon_node'
              : node.runs.some(({ jobId }) => jobId !== null)
                ? 'run_elsewhere'
                : 'edit_node'
        })
    }
    if (!firstRun) {
      list.push({
        ...blank,
        id: 'fails-prices',
        severity: 'error',
        title: 'prices/amazon_de fails',
        text: "KeyError: 'offerPrice' – 14 of the last 14 runs, since version 20261119T181000",
        project: 'prices',
        spider: 'amazon_de',
        mend: 'open_jobs'
      })
    }
    if (python.state === 'missing')
      list.push({
        ...blank,
        id: 'python',
        severity: 'warning',
        title: 'No Python with Scrapy',
        text: python.problem ?? '',
        mend: 'create_environment'
      })
    if (paused)
      list.push({
        ...blank,
        id: 'paused',
        severity: 'warning',
        title: 'The queue is paused',
        text: 'no job is sent to any node until it is resumed',
        mend: 'resume'
      })
    return list
  }

  const status = (): SystemStatus => ({
    scrapdeckVersion: '0.1.0',
    startedAtMs: nowMs - 7_200_000,
    address: 'http://127.0.0.1:6800',
    host: 'service',
    secrets: {
      store: 'file',
      text: 'Node passwords are encrypted with a key in the data directory, readable by your user only. This machine offers no keychain.'
    },
    figures: figures(),
    problems: problems(),
    python
  })

  const jobOf = (id: string): Job =>
    jobs.get(id) ??
    fail(new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${id}. It may have been removed with its history.`))
  const nodeOf = (id: string): Node =>
    nodes.get(id) ?? fail(new ScrapdeckError('NODE_NOT_FOUND', `There is no node ${id}. It may have been removed.`))
  const projectOf = (name: string): Project =>
    projects.get(name) ?? fail(new ScrapdeckError('PROJECT_NOT_FOUND', `There is no project ${name}. Deploy it first.`))
  const newestFirst = () => [...jobs.values()].sort((left, right) => (left.id < right.id ? 1 : -1))
  const save = (job: Job): Job => {
    jobs.set(job.id, job)
    emit({ kind: 'job', job })
    return job
  }
  const saveNode = (node: Node): Node => {
    nodes.set(node.id, node)
    emit({ kind: 'node', node }, { kind: 'figures', figures: figures() }, { kind: 'problems', problems: problems() })
    return node
  }
  const queueJob = (over: Partial<Job>): Job => {
    const id = jobIdAt(Date.now(), number++)
    return save(aJob({ id, jobid: id, rank: number, waiting: { code: 'next_in_line', text: 'next in line' }, ...over }))
  }
  const queue = createFakeQueue({ jobs, nodes, projects, limits, emit, queueJob, jobOf })
  const saveProject = (project: Project): Project => {
    projects.set(project.name, project)
    emit({ kind: 'project', project })
    return project
  }
  function addVersion(name: string, version: string, sizeBytes: number | null) {
    const added = {
      project: name,
      version,
      sha256: 'ab'.repeat(32),
      sizeBytes,
      spiders: SPIDERS[name] ?? ['demo'],
      createdAtMs: Date.now(),
      orderWarning: null,
      deployments: []
    }
    const before = projects.get(name)
    saveProject({
      name,
      latestVersion: version,
      settings: before?.settings ?? DEFAULT_PROJECT_SETTINGS,
      versions: [added, ...(before?.versions ?? [])]
    })
    return added
  }
  const saveEnvironment = (environment: Environment): Environment => {
    environments.set(environment.id, environment)
    emit({ kind: 'environments', environments: [...environments.values()] })
    return environment
  }
  const environmentOf = (id: string): Environment =>
    environments.get(id) ??
    fail(new ScrapdeckError('NOT_FOUND', `There is no environment ${id}. It may have been removed.`))

  /** A making in four steps; the log grows with them. */
  async function build(id: string): Promise<void> {
    const steps = ['Making a virtual environment', 'Reading the requirements', 'Installing 34 packages', 'Trying it']
    for (const [index, text] of steps.entries()) {
      const environment = environments.get(id)
      if (!environment) return
      const progress = { text, share: index / steps.length }
      saveEnvironment({ ...environment, state: 'building', progress, problem: null, hasLog: true })
      await wait(stepMs)
    }
    saveEnvironment({
      ...environmentOf(id),
      state: 'ready',
      path: `environments/${id}/bin/python`,
      version: '3.13.2',
      scrapyVersion: '2.13.3',
      start: WARM,
      progress: null,
      madeAtMs: Date.now()
    })
  }

  /** The environment that a project's Python asks for, made when there is none. */
  function environmentFor(project: string, { python: wanted }: ProjectSettings): void {
    for (const environment of environments.values()) {
      const projectsThere = environment.projects.filter((name) => name !== project)
      environments.set(environment.id, { ...environment, projects: projectsThere })
    }
    const id = wanted.kind === 'default' ? 'main' : `${wanted.kind}-${project}`
    const before = environments.get(id)
    saveEnvironment(
      before
        ? { ...before, projects: [...before.projects, project] }
        : {
            id,
            kind: wanted.kind === 'default' ? 'main' : wanted.kind,
            state: wanted.kind === 'requirements' ? 'building' : 'ready',
            path: wanted.kind === 'interpreter' ? wanted.path : null,
            version: wanted.kind === 'interpreter' ? '3.12.8' : null,
            scrapyVersion: wanted.kind === 'interpreter' ? '2.12.0' : null,
            projects: [project],
            start: COLD,
            problem: null,
            progress: null,
            hasLog: wanted.kind === 'requirements',
            madeAtMs: null
          }
    )
    if (wanted.kind === 'requirements') void build(id)
  }

  const os = implement(contract).use(async ({ next, path }) => {
    calls.push(path.join('.'))
    const failure = failures.get(path.join('.'))
    if (failure) throw failure
    await heldBack.get(path.join('.'))
    return next()
  })
  const router = os.router({
    jobs: {
      list: os.jobs.list.handler(({ input }) => {
        const matching = newestFirst().filter(
          (job) => jobMatches(job, input) && (input.before === undefined || job.id < input.before)
        )
        const page = matching.slice(0, input.limit)
        return { jobs: page, nextBefore: matching.length > page.length ? (page.at(-1)?.id ?? null) : null }
      }),
      facets: os.jobs.facets.handler(({ input }) => {
        const countBy = (filter: Partial<typeof input>, valueOf: (job: Job) => string | null) => {
          const counts = new Map<string, number>()
          for (const job of jobs.values()) {
            const value = valueOf(job)
            if (value !== null && jobMatches(job, { ...input, ...filter }))
              counts.set(value, (counts.get(value) ?? 0) + 1)
          }
          return [...counts].map(([value, count]) => ({ value, count })).sort((left, right) => right.count - left.count)
        }
        return {
          status: countBy({ status: undefined }, (job) => job.status),
          project: countBy({ project: undefined }, (job) => job.project),
          nodeId: countBy({ nodeId: undefined }, (job) => job.nodeId)
        }
      }),
      get: os.jobs.get.handler(({ input }) => fakeDetail(jobOf(input.id))),
      usage: os.jobs.usage.handler(({ input }) => {
        const { id, nodeId, startedAtMs, endedAtMs } = jobOf(input.id)
        if (nodeId !== 'local' || startedAtMs === null) return { samples: [] }
        return { samples: fakeUsage(id, startedAtMs, endedAtMs ?? Date.now()) }
      }),
      run: os.jobs.run.handler(({ input }) => ({
        jobs: input.spiders.map((spider) => queueJob(jobOfItem({ ...input, spider })))
      })),
      ...queue.jobs,
      cancel: os.jobs.cancel.handler(({ input }) => {
        const all = input.ids.map(jobOf)
        const alreadyEnded = all.filter(({ state }) => state === 'ended').map(({ id }) => id)
        const live = all.filter(({ state }) => state !== 'ended')
        const askedAtMs = Date.now()
        const asked = queue.saveAll(
          live.map((job) =>
            job.state === 'queued'
              ? {
                  ...job,
                  state: 'ended',
                  status: 'cancelled',
                  outcome: 'cancelled',
                  waiting: null,
                  reason: 'cancelled while waiting',
                  endedAtMs: askedAtMs,
                  cancelAskedAtMs: askedAtMs
                }
              : { ...job, cancelAskedAtMs: askedAtMs }
          )
        )
        return { asked, alreadyEnded }
      }),
      restore: os.jobs.restore.handler(({ input }) => ({
        restored: queue.saveAll(
          input.ids.map((id) => ({
            ...jobOf(id),
            state: 'queued',
            status: 'queued',
            outcome: null,
            reason: null,
            endedAtMs: null,
            cancelAskedAtMs: null,
            waiting: { code: 'next_in_line', text: 'next in line' }
          }))
        )
      })),
      retry: os.jobs.retry.handler(({ input }) => ({
        jobs: input.ids.map((id) => {
          const { project, version, spider, settings, args, secretNames, priority, placement, retry, noOverlap } =
            jobOf(id)
          const same = { project, version, spider, settings, args, secretNames, priority, placement, retry, noOverlap }
          return queueJob({ ...same, limits: jobOf(id).limits, source: 'retry' })
        })
      }))
    },
    nodes: {
      list: os.nodes.list.handler(() => ({ nodes: [...nodes.values()] })),
      get: os.nodes.get.handler(({ input }) => nodeOf(input.id)),
      probe: os.nodes.probe.handler(async ({ input }) => {
        const url = new URL(/^https?:/.test(input.url) ? input.url : `http://${input.url}`)
        await wait(200 + random() * 500)
        const bad = /down|nowhere/.test(url.hostname)
        const locked = /locked/.test(url.hostname) && !input.password
        const duplicate = [...nodes.values()].find((node) => node.url !== '' && new URL(node.url).host === url.host)
        return {
          url: url.href,
          reachable: !bad,
          health: bad ? ('down' as const) : locked ? ('unauthorized' as const) : ('up' as const),
          problem: bad
            ? `Nothing answers at ${url.host}. Check the address and whether Scrapyd runs there.`
            : locked
              ? 'The node asks for a user name and a password.'
              : null,
          scrapydVersion: bad || locked ? null : '1.6',
          nodeName: bad || locked ? null : url.hostname.split('.')[0]!,
          running: bad || locked ? null : 1,
          pending: bad || locked ? null : 0,
          projects: bad || locked ? [] : ['prices', 'news'],
          latencyMs: bad ? null : 14,
          clockOffsetMs: bad ? null : 2,
          warnings: !bad && url.protocol === 'http:' ? ['The connection is not encrypted.'] : [],
          duplicateOf: duplicate?.id ?? null
        }
      }),
      add: os.nodes.add.handler(({ input }) => {
        const host = new URL(input.url).hostname
        const name = input.name ?? (host.split('.')[0] as string)
        return saveNode(
          aNode({
            id: `n${number++}`,
            name,
            url: input.url,
            username: input.username ?? null,
            hasPassword: Boolean(input.password),
            slots: input.slots ?? 4,
            slotsSource: input.slots ? 'set' : 'default',
            tags: input.tags ?? [],
            addedAtMs: Date.now(),
            finished: 0
          })
        )
      }),
      update: os.nodes.update.handler(({ input }) => {
        const { id, name, slots, tags, url, username, password, clientCertificate, proxyUrl } = input
        const node = nodeOf(id)
        return saveNode({
          ...node,
          queueAhead: input.queueAhead ?? node.queueAhead,
          giveUpAfterSeconds:
            input.giveUpAfterSeconds === undefined ? node.giveUpAfterSeconds : input.giveUpAfterSeconds,
          group: input.group === undefined ? node.group : input.group,
          hasClientCertificate:
            clientCertificate === undefined ? node.hasClientCertificate : clientCertificate !== null,
          proxyUrl: proxyUrl === undefined ? node.proxyUrl : proxyUrl,
          name: name ?? node.name,
          slots: slots ?? node.slots,
          slotsSource: slots ? 'set' : node.slotsSource,
          tags: tags ?? node.tags,
          url: url ?? node.url,
          username: username === undefined ? node.username : username,
          hasPassword: password === undefined ? node.hasPassword : password !== null
        })
      }),
      setMode: os.nodes.setMode.handler(({ input }) => saveNode({ ...nodeOf(input.id), mode: input.mode })),
      remove: os.nodes.remove.handler(({ input }) => {
        const node = nodeOf(input.id)
        const live = node.runs.filter((run) => run.jobId !== null).length
        if (live > 0 && !input.force)
          throw new ScrapdeckError(
            'NODE_BUSY',
            `${node.name} still runs ${live} jobs. Drain it first, or remove it and let them be marked lost.`
          )
        nodes.delete(input.id)
        emit({ kind: 'node_removed', id: input.id })
        return { removed: input.id }
      }),
      cancelExternal: os.nodes.cancelExternal.handler(({ input }) => {
        const node = nodeOf(input.id)
        const isThere = node.runs.some(({ jobid }) => jobid === input.jobid)
        saveNode({ ...node, runs: node.runs.filter(({ jobid }) => jobid !== input.jobid) })
        return { wasState: isThere ? ('running' as const) : null }
      }),
      adoptExternal: os.nodes.adoptExternal.handler(({ input }) => {
        const node = nodeOf(input.id)
        const run =
          node.runs.find(({ jobid }) => jobid === input.jobid) ??
          fail(new ScrapdeckError('NOT_FOUND', `${node.name} lists no job ${input.jobid} any more.`))
        const job = queueJob({
          jobid: run.jobid,
          project: run.project,
          spider: run.spider,
          source: 'adopted',
          state: 'running',
          status: 'running',
          waiting: null,
          nodeId: node.id,
          attemptCount: 1,
          startedAtMs: run.sinceMs
        })
        saveNode({ ...node, runs: node.runs.map((each) => (each === run ? { ...run, jobId: job.id } : each)) })
        return job
      })
    },
    projects: {
      list: os.projects.list.handler(() => ({ projects: [...projects.values()] })),
      get: os.projects.get.handler(({ input }) => projectOf(input.project)),
      upload: os.projects.upload.handler(async ({ input }) => {
        await wait(400)
        if (!/\.(egg|zip)$/.test(input.file.name))
          throw new ScrapdeckError(
            'EGG_NOT_A_ZIP',
            `${input.file.name} is not a zip archive. Drop an .egg, or a folder with scrapy.cfg.`
          )
        const name = input.project ?? (input.file.name.split(/[-.]/)[0] as string)
        return addVersion(name, input.version ?? '20261121T010000', input.file.size)
      }),
      deploy: os.projects.deploy.handler(async function* ({ input }) {
        const sent = projectOf(input.project).versions.find(({ version }) => version === input.version)
        const sha256 = sent?.sha256 ?? null
        for (const node of nodes.values()) {
          if (input.nodeIds && !input.nodeIds.includes(node.id)) continue
          const at = () => ({ nodeId: node.id, sha256: null, changedAtMs: Date.now() })
          yield { ...at(), state: 'sending' as const, error: null }
          await wait(150)
          const deployment =
            node.health === 'down'
              ? { ...at(), state: 'failed' as const, error: 'The node did not answer within 5 s' }
              : { ...at(), state: 'present' as const, sha256, error: null }
          const project = projectOf(input.project)
          saveProject({
            ...project,
            versions: project.versions.map((each) =>
              each.version === input.version
                ? { ...each, deployments: [...each.deployments.filter(({ nodeId }) => nodeId !== node.id), deployment] }
                : each
            )
          })
          yield deployment
        }
      }),
      configure: os.projects.configure.handler(({ input }) => {
        const saved = saveProject({ ...projectOf(input.project), settings: input.settings })
        environmentFor(input.project, input.settings)
        return saved
      }),
      setPaused: os.projects.setPaused.handler(({ input }) => {
        const project = projectOf(input.project)
        const saved = saveProject({ ...project, settings: { ...project.settings, paused: input.paused } })
        queue.tellWaiting()
        return saved
      }),
      deleteVersion: os.projects.deleteVersion.handler(({ input }) => {
        const project = projectOf(input.project)
        const versions = project.versions.filter(({ version }) => version !== input.version)
        saveProject({ ...project, versions, latestVersion: versions[0]?.version ?? null })
        return { failedNodes: [] }
      }),
      deleteProject: os.projects.deleteProject.handler(({ input }) => {
        projects.delete(projectOf(input.project).name)
        emit({ kind: 'project_removed', name: input.project })
        return { failedNodes: [] }
      })
    },
    queue: queue.queue,
    discovery: createFakeDiscovery(sources, emit),
    environments: {
      list: os.environments.list.handler(() => ({ environments: [...environments.values()] })),
      log: os.environments.log.handler(async function* ({ input, signal }) {
        const { state, problem } = environmentOf(input.id)
        if (state !== 'building') {
          yield { text: BUILD_LOG + (problem === null ? '' : `ERROR: ${problem}\n`) }
          return
        }
        for (const line of BUILD_LOG.split(/(?<=\n)/)) {
          if (signal?.aborted) return
          yield { text: line }
          await wait(stepMs / 5)
        }
      }),
      rebuild: os.environments.rebuild.handler(({ input }) => {
        const environment = environmentOf(input.id)
        void build(input.id)
        return environment
      }),
      remove: os.environments.remove.handler(({ input }) => {
        const { projects: users } = environmentOf(input.id)
        if (users.length > 0) throw new ScrapdeckError('BAD_INPUT', `${input.id} is used by ${users.join(', ')}.`)
        environments.delete(input.id)
        emit({ kind: 'environments', environments: [...environments.values()] })
        return { removed: input.id }
      })
    },
    logs: {
      read: os.logs.read.handler(({ input }) => {
        const bytes = new TextEncoder().encode(logOf(jobOf(input.jobId)))
        const offset =
          input.offset < 0 ? Math.max(0, bytes.length + input.offset) : Math.min(input.offset, bytes.length)
        const piece = bytes.slice(offset, offset + input.limitBytes)
        return {
          offset,
          nextOffset: offset + piece.length,
          sizeBytes: bytes.length,
          text: new TextDecoder().decode(piece),
          complete: jobOf(input.jobId).state === 'ended' && offset + piece.length >= bytes.length
        }
      }),
      tail: os.logs.tail.handler(async function* ({ input, signal }) {
        const existing = logOf(jobOf(input.jobId))
        let offset = input.offset ?? Math.max(0, existing.length - input.tailBytes)
        const complete = () => jobOf(input.jobId).state === 'ended'
        yield {
          offset,
          nextOffset: existing.length,
          sizeBytes: existing.length,
          text: existing.slice(offset),
          complete: complete()
        }
        offset = existing.length
        for (let line = 400; !signal?.aborted && !complete(); line++) {
          await wait(300)
          const text = fakeLogLine(jobOf(input.jobId), line)
          yield {
            offset,
            nextOffset: offset + text.length,
            sizeBytes: offset + text.length,
            text,
            complete: complete()
          }
          offset += text.length
        }
      })
    },
    events: {
      subscribe: os.events.subscribe.handler(async function* ({ input, signal }): AsyncGenerator<ChangeBatch> {
        let at = input.after === undefined ? changes.length : Number(input.after)
        const reset = at < firstKept
        if (reset) at = changes.length
        yield { cursor: String(at), reset, changes: [] }
        while (!signal?.aborted) {
          if (at >= changes.length) {
            const dropped = await new Promise<boolean>((resolve) => {
              const wake = (value: boolean) => {
                wakers.delete(wake)
                signal?.removeEventListener('abort', abort)
                resolve(value)
              }
              const abort = () => wake(false)
              wakers.add(wake)
              signal?.addEventListener('abort', abort)
            })
            if (dropped) throw new TypeError('network error')
            if (signal?.aborted) return
          }
          const batch = changes.slice(at)
          at = changes.length
          if (batch.length > 0) yield { cursor: String(at), reset: false, changes: batch }
        }
      })
    },
    system: {
      status: os.system.status.handler(status),
      history: os.system.history.handler(() => {
        const now = figures()
        const wave = seededRandom(3)
        return {
          samples: firstRun
            ? []
            : Array.from({ length: 90 }, (_, index) => ({
                ...now,
                sampledAtMs: now.sampledAtMs - (90 - index) * 10_000,
                slotsUsed: Math.round(now.slotsUsed * (0.7 + index / 300) + wave() * 6),
                queued: Math.round(now.queued * (0.8 + 0.3 * Math.sin(index / 9)) + wave() * 6),
                finishedLastHour: Math.round(now.finishedLastHour * (0.9 + index / 900) + wave() * 300),
                failedLastHour: Math.round(now.failedLastHour * (0.9 + 0.5 * Math.cos(index / 14)) + wave() * 2)
              }))
        }
      }),
      credentials: os.system.credentials.handler(() => ({
        username: 'scrapdeck',
        password: 'kestrel-amber-42-willow',
        address: 'http://127.0.0.1:6800'
      })),
      setPaused: os.system.setPaused.handler(({ input }) => {
        paused = input.paused
        emit({ kind: 'figures', figures: figures() }, { kind: 'problems', problems: problems() })
        return { paused }
      }),
      runDemo: os.system.runDemo.handler(() => {
        addVersion('demo', '20261121T010000', 4211)
        const job = queueJob({ project: 'demo', spider: 'quotes', source: 'demo' })
        return {
          job: save({
            ...job,
            state: 'running',
            status: 'running',
            waiting: null,
            nodeId: 'local',
            attemptCount: 1,
            startedAtMs: Date.now()
          })
        }
      }),
      createEnvironment: os.system.createEnvironment.handler(async function* () {
        const steps = ['Making a virtual environment', 'Downloading Scrapy', 'Installing Scrapy', 'Trying it']
        for (const [index, text] of steps.entries()) {
          yield { text, done: false, share: index / steps.length }
          await wait(700)
        }
        python = {
          state: 'ready',
          path: '.venv/bin/python',
          version: '3.13.2',
          scrapyVersion: '2.13.3',
          start: WARM,
          problem: null
        }
        emit({ kind: 'python', python }, { kind: 'problems', problems: problems() })
        yield { text: 'Ready', done: true, share: 1 }
      })
    }
  })

  /** One believable moment: a job starts, one progresses, one ends, one arrives. */
  function step(): void {
    const all = [...jobs.values()]
    const running = all.filter((job) => job.status === 'running')
    for (const job of running.slice(0, 6))
      save({
        ...job,
        pages: (job.pages ?? 0) + Math.floor(random() * 30),
        items: (job.items ?? 0) + Math.floor(random() * 9)
      })
    const ending = running[Math.floor(random() * running.length)]
    const waiting = all.filter((job) => job.status === 'queued')[0]
    if (ending?.nodeId && waiting) {
      const failed = random() < 0.2
      save({
        ...ending,
        state: 'ended',
        status: failed ? 'failed' : 'succeeded',
        outcome: failed ? 'failed' : 'succeeded',
        reason: 'finished',
        endedAtMs: Date.now()
      })
      const node = nodeOf(ending.nodeId)
      save({
        ...waiting,
        state: 'running',
        status: 'running',
        waiting: null,
        nodeId: node.id,
        attemptCount: 1,
        startedAtMs: Date.now()
      })
      const runs = [
        ...node.runs.filter((run) => run.jobId !== ending.id),
        {
          jobId: waiting.id,
          jobid: waiting.jobid,
          project: waiting.project,
          spider: waiting.spider,
          state: 'running' as const,
          sinceMs: Date.now(),
          usage: null
        }
      ]
      saveNode({ ...node, runs, running: runs.length, lastSeenAtMs: Date.now() })
      const project = Object.keys(SPIDERS)[Math.floor(random() * 4)] as string
      queueJob({ project, spider: (SPIDERS[project] as string[])[0] as string })
    }
    for (const node of nodes.values()) {
      if (node.health === 'up') nodes.set(node.id, { ...node, runs: withUsage(node), lastSeenAtMs: Date.now() })
    }
    emit(...[...nodes.values()].map((node): Change => ({ kind: 'node', node })))
    emit({ kind: 'figures', figures: figures() })
  }

  const timer = liveEveryMs > 0 ? setInterval(step, liveEveryMs) : null
  return {
    client: createRouterClient(router) as Client,
    router,
    jobs,
    nodes,
    projects,
    environments,
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
    dropStreams: () => [...wakers].forEach((wake) => wake(true)),
    forgetChanges: () => {
      firstKept = changes.length + 1
      changes.push({ kind: 'figures', figures: figures() })
    },
    step,
    stop: () => {
      if (timer !== null) clearInterval(timer)
    }
  }
}

function logOf(job: Job): string {
  if (job.startedAtMs === null) return ''
  return Array.from({ length: 400 }, (_, index) => fakeLogLine(job, index)).join('')
}

/** Only the local node knows what its runs use. */
function withUsage({ kind, runs }: Node): Node['runs'] {
  if (kind !== 'local') return runs
  return runs.map((run) => ({
    ...run,
    usage: (run.sinceMs !== null && fakeUsage(run.jobid, run.sinceMs, Date.now()).at(-1)) || null
  }))
}

function fail(error: Error): never {
  throw error
}

const wait = (durationMs: number) => new Promise<void>((resolve) => setTimeout(resolve, durationMs))
