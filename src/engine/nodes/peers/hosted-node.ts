import { readFile, writeFile, open, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { Readable } from 'node:stream'
import type { ProjectName, ProjectPython } from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Message } from '../../../shared/texts/message.ts'
import type { LogRange } from '../node-client.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { LocalNode, type LocalNodeOptions, refusal } from '../local/local-node.ts'
import { Pruner } from '../local/runs/prune-files.ts'
import { HostedEggs } from './hosted-eggs.ts'
import {
  type EggUpload,
  type HostedAnswers,
  type HostedInput,
  type HostedOutput,
  ProjectPythons,
  type RunFile,
  toSentJob,
  toSentNotReady
} from './messages.ts'
import { isAlive, readStartTime } from '../../runtime/process-identity.ts'

/**
 * The number of logs and item files kept per spider, as in Scrapyd. The archive keeps files that are needed for
 * longer.
 */
const FILES_KEPT = 5
const NEWS_LIMIT_MS = 20_000
const PYTHONS_FILE = 'hosted-pythons.json'
const SavedPythons = z.object({ pythons: ProjectPythons, pythonsTag: z.string() })

export interface HostedNodeOptions
  extends Pick<
    LocalNodeOptions,
    | 'directory'
    | 'resourcesDirectory'
    | 'pythonPath'
    | 'warmStarts'
    | 'dataDirectory'
    | 'isolation'
    | 'clock'
    | 'logger'
  > {
  /** Used until the operator sets a different number. */
  slots: number
  /** The number of logs and item files kept per spider. null: five, as in Scrapyd. */
  jobsToKeep: number | null
  directories: { logsDirectory: string; itemsDirectory: string | null; jobsDirectory: string | null }
  prunedDirectories: string[]
}

/**
 * The local node of one engine in a cluster. The leader uses it like a Scrapyd over HTTP
 * (server/nodes/engine-endpoint.ts), even in the same process. It has its own eggs and does not use the database.
 */
export class HostedNode implements HostedAnswers {
  readonly #node: LocalNode
  readonly #eggs: HostedEggs
  readonly #orders: Orders
  readonly #clock: Clock
  readonly #pythonsFile: string
  readonly #unlock: () => Promise<void>
  #changes = 0
  #waiting: (() => void)[] = []

  private constructor(
    node: LocalNode,
    eggs: HostedEggs,
    orders: Orders,
    { clock, directory, unlock }: HostedNodeOptions & { unlock: () => Promise<void> }
  ) {
    this.#unlock = unlock
    this.#clock = clock
    this.#pythonsFile = join(directory, PYTHONS_FILE)
    this.#node = node
    this.#eggs = eggs
    this.#orders = orders
    node.events.on('runs', () => this.#tellNews())
    node.events.on('pythons', () => this.#tellNews())
  }

  /** Continues the runs of an earlier process. */
  static async open(options: HostedNodeOptions): Promise<HostedNode> {
    const { directory, prunedDirectories, jobsToKeep, logger } = options
    makePrivateDirectory(directory)
    await using stack = new AsyncDisposableStack()
    const unlock = await lockHosted(directory, options.clock)
    stack.defer(unlock)
    const eggs = await HostedEggs.open(join(directory, 'hosted-eggs'))
    const sinceMs = await readOrWriteSince(join(directory, 'hosted-since'), options.clock)
    // Runs that were already accepted must start with the Python that they were accepted with.
    const { pythons, pythonsTag } = await readPythons(join(directory, PYTHONS_FILE))
    const orders: Orders = {
      ownSlots: options.slots,
      slots: null,
      pythonsTag,
      released: new Set(),
      pythons: new Map(pythons)
    }
    let opened: LocalNode | null = null
    const isNeeded = (jobid: string) => (opened?.isKnown(jobid) ?? true) && !orders.released.has(jobid)
    opened = await LocalNode.open({
      ...options,
      slots: () => orders.slots ?? orders.ownSlots,
      projectPythons: { names: () => eggs.projects(), of: (project) => orders.pythons.get(project) ?? DEFAULT_PYTHON },
      source: async (project, version) => sourceOf(eggs.pathOf(project, version)),
      oldFiles: new Pruner({
        directories: prunedDirectories,
        keep: jobsToKeep ?? FILES_KEPT,
        isNeeded,
        logger,
        notBeforeMs: sinceMs
      })
    })
    stack.move()
    return new HostedNode(opened, eggs, orders, { ...options, unlock })
  }

  readonly messages = () => import('./messages.ts')

  async status({ slots, pythonsTag, pythons }: HostedInput<'status'>): Promise<HostedOutput<'status'>> {
    const orders = this.#orders
    orders.slots = slots
    if (pythons !== undefined && orders.pythonsTag !== pythonsTag) {
      await writeFile(this.#pythonsFile, JSON.stringify({ pythons, pythonsTag }), { mode: 0o600 })
      Object.assign(orders, { pythons: new Map(pythons), pythonsTag })
      this.#node.environments.refresh()
    }
    const { pending, running, finished } = await this.#node.daemonStatus()
    const notReady = [...orders.pythons.keys()].flatMap((project): [ProjectName, Message][] => {
      const why = this.#node.whyNotReady(project)
      return why === null ? [] : [[project, why]]
    })
    return {
      pending,
      running,
      finished,
      nodeName: hostname(),
      slots: slots ?? orders.ownSlots,
      hasPythons: orders.pythonsTag === pythonsTag,
      notReady: toSentNotReady({ others: this.#node.whyNotReady('' as ProjectName), projects: new Map(notReady) })
    }
  }

  async jobs(): Promise<HostedOutput<'jobs'>> {
    const { pending, running, finished } = await this.#node.listJobs()
    const [waiting, live, ended] = [pending, running, finished].map((jobs) => jobs.map(toSentJob))
    return { pending: waiting!, running: live!, finished: ended! }
  }

  schedule(input: HostedInput<'schedule'>): Promise<HostedOutput<'schedule'>> {
    const { env, ...request } = input
    return this.#node.schedule(env === undefined ? request : { ...request, env })
  }

  cancel(input: HostedInput<'cancel'>): Promise<HostedOutput<'cancel'>> {
    return this.#node.cancel(input)
  }

  async release({ jobids }: HostedInput<'release'>): Promise<HostedOutput<'release'>> {
    this.#orders.released = new Set(jobids)
    return {}
  }

  /** Resolves when the number of changes differs from `changes`, after NEWS_LIMIT_MS, or when `signal` is aborted. */
  async news({ changes }: HostedInput<'news'>, signal: AbortSignal): Promise<HostedOutput<'news'>> {
    if (changes !== this.#changes) return { changes: this.#changes }
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#clock.setTimer(NEWS_LIMIT_MS, resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    this.#waiting.push(resolve)
    await promise
    timer.cancel()
    this.#waiting = this.#waiting.filter((one) => one !== resolve)
    return { changes: this.#changes }
  }

  async spiders({ project, version }: HostedInput<'spiders'>): Promise<HostedOutput<'spiders'>> {
    return { spiders: await refusing(this.#node.listSpiders(project, version)) }
  }

  async projects(): Promise<HostedOutput<'projects'>> {
    return { projects: this.#eggs.projects() }
  }

  async versions({ project }: HostedInput<'versions'>): Promise<HostedOutput<'versions'>> {
    return { versions: this.#eggs.versions(project) }
  }

  /** Rejects and stores nothing if the egg cannot be imported. Resolves with the number of spiders. */
  async addVersion(egg: EggUpload, content: Readable): Promise<{ spiders: number }> {
    const list = (path: string) => this.#node.listSpidersOfEgg(path, egg.project)
    const spiders = await refusing(this.#eggs.put(egg, content, list))
    this.#sweepSoon()
    return { spiders: spiders.length }
  }

  async deleteVersion({ project, version }: HostedInput<'deleteVersion'>): Promise<HostedOutput<'deleteVersion'>> {
    if (!(await this.#eggs.remove(project, version))) {
      throw refusal(`version '${version}' not found`, 'unknown_version')
    }
    this.#sweepSoon()
    return {}
  }

  readFile({ kind, offset, limitBytes, ...run }: RunFile): Promise<LogRange | null> {
    const range = { offset, limitBytes }
    if (kind === 'printed') return this.#node.readPrinted(run, range)
    return kind === 'log' ? this.#node.readLog(run, range) : this.#node.readItems(run, range)
  }

  async close(): Promise<void> {
    await this.#node.close()
    this.#tellNews()
    await this.#unlock()
  }

  #tellNews(): void {
    this.#changes += 1
    const waiting = this.#waiting
    this.#waiting = []
    for (const tell of waiting) tell()
    this.#sweepSoon()
  }

  #sweepSoon(): void {
    void this.#eggs.sweep(this.#node.liveDirectories()).catch(() => {})
  }
}

interface Orders {
  ownSlots: number
  slots: number | null
  pythons: ReadonlyMap<ProjectName, ProjectPython>
  pythonsTag: string
  released: ReadonlySet<string>
}

/** When this directory was first hosted. The archive has no files of earlier runs (copy-store). */
async function readOrWriteSince(path: string, clock: Clock): Promise<number> {
  try {
    await writeFile(path, String(clock.nowMs()), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return Number(await readFile(path, 'utf8'))
}

/** Empty if no Pythons were sent or the file is damaged. The leader sends the Pythons again. */
async function readPythons(path: string): Promise<z.infer<typeof SavedPythons>> {
  try {
    return SavedPythons.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return { pythons: [], pythonsTag: '' }
  }
}

const DEFAULT_PYTHON: ProjectPython = { kind: 'default' }

const sourceOf = (egg: string | null) => (egg === null ? null : { egg })

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isScrapdeckError(error)) throw error
    throw refusal(error.message, error.code === 'EGG_IMPORT_FAILED' ? 'import_failed' : 'other')
  }
}

const FILE = 'hosted.lock'
/** How long we wait for a lock. A process that is being replaced may still be closing. */
const WAIT_MS = 10_000
const PAUSE_MS = 200
const Holder = z.object({ pid: z.number().int(), startTime: z.string() })

/**
 * Allows one process at a time to host a directory, because two would start its runs twice. Takes over the lock of
 * a killed process. Rejects with DATA_DIRECTORY_IN_USE. Resolves with the function that unlocks.
 */
export async function lockHosted(directory: string, clock: Clock): Promise<() => Promise<void>> {
  const path = join(directory, FILE)
  const own = JSON.stringify({ pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' })
  const untilMs = clock.monotonicMs() + WAIT_MS
  for (;;) {
    try {
      await using file = await open(path, 'wx', 0o600)
      await file.writeFile(own)
      return async () => {
        if ((await readFile(path, 'utf8').catch(() => '')) === own) await rm(path, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = await readHolder(path)
    // After a reboot or in another container, this process may have the recorded pid, but a later start time.
    if (holder === null || !(await isAlive(holder))) await rm(path, { force: true })
    else if (clock.monotonicMs() >= untilMs) throw inUse(directory, holder.pid)
    else await sleep(clock, PAUSE_MS)
  }
}

/** null: the file is damaged or missing. */
async function readHolder(path: string): Promise<z.infer<typeof Holder> | null> {
  try {
    return Holder.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

function inUse(directory: string, pid: number): ScrapdeckError {
  const text = sentence('nodes.local_node_hosted', { pid, directory })
  return new ScrapdeckError('DATA_DIRECTORY_IN_USE', text)
}
