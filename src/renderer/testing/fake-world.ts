import {
  type Change,
  DEFAULT_PROJECT_SETTINGS,
  type Job,
  type LimitRule,
  type Node,
  type Project,
  type PythonState
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aJob, jobIdAt } from '../../shared/testing/builders.ts'
import { aJobId, aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { fakeSources } from './fake-discovery.ts'
import { fakeFigures, fakeProblems } from './fake-figures.ts'
import { fakeJobs, fakeLimits, fakeNodes, fakeProjects, seededRandom, SPIDERS } from './fake-fleet.ts'
import { COLD, fakeEnvironments, WARM } from './fake-local-node.ts'
import { say, waitFor, writtenAs } from '../../shared/texts/message.ts'

export interface FakeWorldOptions {
  nodeCount?: number
  jobCount?: number
  seed?: number
  python?: PythonState['state']
  firstRun?: boolean
  itemsEngine?: 'duckdb' | 'plain'
  /** How long each step of an upload, a deployment or an environment build takes. */
  stepMs?: number
}

/**
 * The maximum number of jobs whose changes a bulk action announces one by one. More are announced as one change, as in
 * the engine.
 */
const EMITTED_ONE_BY_ONE_MAX = 200

export type FakeWorld = ReturnType<typeof createFakeWorld>

export function createFakeWorld(options: FakeWorldOptions, emit: (...changes: Change[]) => void) {
  const { firstRun = false, seed = 7, python: pythonState = 'ready', stepMs = 700 } = options
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
  const python: PythonState =
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
          ...writtenAs('problem', say('python.without_scrapy', { version: '3.13' }))
        }
  const itemsEngine = (options.itemsEngine ?? 'duckdb') as 'duckdb' | 'plain'
  const state = { jobs, nodes, firstRun, paused: false, python, itemsEngine }
  let number = 10_000
  const nextNumber = () => number++
  const figures = () => fakeFigures(state)
  const problems = () => fakeProblems(state)

  const jobOf = (id: string): Job =>
    jobs.get(aJobId(id)) ??
    fail(new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${id}. It may have been removed with its history.`))
  const nodeOf = (id: string): Node =>
    nodes.get(aNodeId(id)) ??
    fail(new ScrapdeckError('NODE_NOT_FOUND', `There is no node ${id}. It may have been removed.`))
  const projectOf = (name: string): Project =>
    projects.get(aProjectName(name)) ??
    fail(new ScrapdeckError('PROJECT_NOT_FOUND', `There is no project ${name}. Deploy it first.`))
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
  function saveAll(changed: readonly Job[]): string[] {
    for (const job of changed) jobs.set(job.id, job)
    if (changed.length > EMITTED_ONE_BY_ONE_MAX) emit({ kind: 'jobs' })
    else emit(...changed.map((job): Change => ({ kind: 'job', job })))
    return changed.map(({ id }) => id)
  }
  const queueJob = (over: Partial<Job>): Job => {
    const id = jobIdAt(Date.now(), nextNumber())
    return save(aJob({ id, jobid: id, rank: number, waiting: waitFor('next_in_line'), ...over }))
  }
  const saveProject = (project: Project): Project => {
    projects.set(project.name, project)
    emit({ kind: 'project', project })
    return project
  }
  function addVersion(name: string, version: string, sizeBytes: number | null) {
    const added = {
      project: aProjectName(name),
      version: aVersionName(version),
      sha256: 'ab'.repeat(32),
      sizeBytes,
      spiders: SPIDERS[name] ?? ['demo'],
      createdAtMs: Date.now(),
      orderWarning: null,
      deployments: []
    }
    const before = projects.get(aProjectName(name))
    const pinnedVersion = before?.settings.pinnedVersion ?? null
    saveProject({
      name: aProjectName(name),
      latestVersion: aVersionName(version),
      activeVersion: pinnedVersion ?? aVersionName(version),
      settings: before?.settings ?? DEFAULT_PROJECT_SETTINGS,
      versions: [added, ...(before?.versions ?? [])]
    })
    return { ...added, pinnedVersion }
  }

  return Object.assign(state, {
    projects,
    environments,
    sources,
    limits,
    random,
    startedAtMs: nowMs,
    stepMs,
    emit,
    figures,
    problems,
    nextNumber,
    jobOf,
    nodeOf,
    projectOf,
    save,
    saveAll,
    saveNode,
    queueJob,
    saveProject,
    addVersion
  })
}

export function fail(error: Error): never {
  throw error
}

export const wait = (durationMs: number) => new Promise<void>((resolve) => setTimeout(resolve, durationMs))
