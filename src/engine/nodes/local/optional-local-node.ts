import { EventEmitter } from 'node:events'
import { availableParallelism } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { JobId, PythonState, UsageSample } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { say, written, writtenAs } from '../../../shared/texts/message.ts'
import type { StoredNode } from '../../model/records.ts'
import type { Projects } from '../../projects/projects.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Tools } from '../../runtime/tools.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { SettingStore, Store } from '../../storage/store.ts'
import { LocalNode, type LocalNodeOptions } from './local-node.ts'
import { requirePython } from './pythons/check-python.ts'
import { type Environments, NO_ENVIRONMENTS } from './pythons/environments.ts'
import { absoluteUnlessBare } from './pythons/python-environment.ts'
import type { RunDirectories } from './runs/launch-plan.ts'
import { Pruner } from './runs/prune-files.ts'

export interface LocalNodeSettings extends Pick<LocalNodeOptions, 'pythonPath'> {
  dataDirectory: string
  host: 'desktop' | 'service'
  /** The path of resources/ (python, demo), which differs between a checkout and a packaged app. */
  resourcesDirectory: string
  /** The number of concurrent spiders. Overrides earlier settings. Default: the number of CPUs. 0: no local node. */
  localSlots?: number
  /** From the configuration file. Applied only if changed since the last start, so that changes in the UI persist. */
  configuredSlots?: number
  /**
   * In Scrapyd's layout. Default: local/ in the data directory, without `jobs`. null: not written. `items` can be a
   * URL.
   */
  directories?: { eggs?: string; logs?: string | null; items?: string | null; jobs?: string | null }
  /** The number of logs and item files kept per spider, in addition to those of live jobs. null: all. */
  jobsToKeep?: number | null
  /** Default: on, with at most four parents and one parked child each. No start waits for a parent. */
  warmStarts?: LocalNodeOptions['warmStarts']
  isolation?: LocalNodeOptions['isolation']
}

export interface LocalLayout {
  own: string
  eggs: string
  /** null: not shown. Logs are still written, because outcomes derive from them. */
  logs: string | null
  /** null: items are not written, or not to a path. */
  items: string | null
  written: Omit<RunDirectories, 'workDirectory'>
  pruned: string[]
}

export function layOutLocalNode({
  dataDirectory,
  directories = {}
}: Pick<LocalNodeSettings, 'dataDirectory' | 'directories'>): LocalLayout {
  const own = join(dataDirectory, 'local')
  const { eggs = join(own, 'eggs'), logs = join(own, 'logs'), items = join(own, 'items'), jobs = null } = directories
  const written = { logsDirectory: logs ?? join(own, 'logs'), itemsDirectory: items, jobsDirectory: jobs }
  const itemFiles = isAbsolute(items ?? '') ? items : null
  const pruned = [written.logsDirectory, itemFiles].filter((directory) => directory !== null)
  return { own, eggs, logs, items: itemFiles, written, pruned }
}

/** Rejects with PYTHON_MISSING if the configured Python cannot run spiders. */
export async function checkNamedPython(
  { pythonPath, resourcesDirectory }: LocalNodeSettings,
  clock = systemClock
): Promise<void> {
  if (pythonPath === undefined) return
  await requirePython(absoluteUnlessBare(pythonPath), { directory: resourcesDirectory, clock })
}

const TURNED_OFF = say('python.turned_off')
const NO_PYTHON: PythonState = {
  state: 'missing',
  path: null,
  version: null,
  scrapyVersion: null,
  start: { mode: 'cold', ...written(TURNED_OFF) },
  ...writtenAs('problem', TURNED_OFF)
}

interface LocalNodeEvents {
  changed: []
  usage: []
  /** `isNewReady`: another Python is ready to use. */
  pythons: [isNewReady: boolean]
}

interface Parts extends Tools, Pick<LocalNodeOptions, 'limitWaitsMs'> {
  store: Store
  layout: LocalLayout
  projects: Projects
  isNeeded: (jobid: string) => boolean
  /** null: the engine has no local node. undefined: `open` opens one. */
  node: LocalNode | null | undefined
}

export class OptionalLocalNode {
  readonly events = new EventEmitter<LocalNodeEvents>()
  readonly #store: Store
  readonly #row: StoredNode
  #slots: number
  #node: LocalNode | null = null
  #readyPythons = new Set<string | null>()

  private constructor(store: Store, row: StoredNode) {
    this.#store = store
    this.#row = row
    this.#slots = row.slots ?? availableParallelism()
  }

  static async open(options: LocalNodeSettings, parts: Parts): Promise<OptionalLocalNode> {
    const { layout, store, projects, limitWaitsMs, isNeeded, clock, logger } = parts
    const stored = (await store.listNodes()).find(({ id }) => id === LOCAL_NODE_ID)
    const slots =
      options.localSlots ?? (await applyConfiguredSlots(store, options.configuredSlots)) ?? stored?.slots ?? null
    const row = localNodeRow(stored, slots, { host: options.host, addedAtMs: clock.nowMs() })
    const local = new OptionalLocalNode(store, row)
    if (parts.node !== undefined) {
      local.#node = parts.node
      return local
    }
    const { jobsToKeep: keep = null, resourcesDirectory, pythonPath, warmStarts, dataDirectory, isolation } = options
    local.#node = await LocalNode.open({
      resourcesDirectory,
      pythonPath,
      warmStarts,
      dataDirectory,
      isolation,
      limitWaitsMs,
      clock,
      logger,
      directory: layout.own,
      slots: () => local.#slots,
      projectPythons: { names: () => projects.catalog.names(), of: (project) => projects.settingsOf(project).python },
      source: (project, version) => projects.source(project, version),
      directories: layout.written,
      oldFiles: keep === null ? null : new Pruner({ directories: layout.pruned, keep, isNeeded, logger })
    })
    return local
  }

  get node(): LocalNode | null {
    return this.#node
  }

  get environments(): Environments {
    return this.#node?.environments ?? NO_ENVIRONMENTS
  }

  python(): PythonState {
    return this.#node?.python.state() ?? NO_PYTHON
  }

  setSlots(slots: number): void {
    this.#slots = slots
  }

  async usageOf(jobId: JobId): Promise<UsageSample[]> {
    await requireJob(this.#store, jobId)
    const attempt = (await this.#store.listAttempts(jobId)).findLast(({ nodeId }) => nodeId === LOCAL_NODE_ID)
    return attempt === undefined ? [] : (this.#node?.usage.usageOf(attempt.jobid) ?? [])
  }

  async putRow(): Promise<void> {
    if (this.#node !== null) await this.#store.putNode(this.#row)
  }

  /** Starts to emit events, first for the current state of the Pythons. */
  start(): void {
    this.#node?.events.on('runs', () => this.events.emit('changed'))
    this.#node?.events.on('usage', () => this.events.emit('usage'))
    this.#node?.events.on('pythons', () => this.#publishPythons())
    if (this.#node !== null) this.#publishPythons()
  }

  async stop(): Promise<void> {
    await this.#node?.close()
  }

  #publishPythons(): void {
    const before = this.#readyPythons
    const ready = this.environments.list().flatMap(({ path, state }) => (state === 'ready' ? [path] : []))
    this.#readyPythons = new Set(ready)
    const isNewReady = ready.some((path) => !before.has(path))
    this.events.emit('pythons', isNewReady)
  }
}

/** null: unchanged since the last start, so that changes in the UI persist. */
async function applyConfiguredSlots(store: SettingStore, slots: number | undefined): Promise<number | null> {
  const taken = await store.getSetting('local.configuredSlots')
  if (slots === undefined || slots === taken) return null
  await store.putSetting('local.configuredSlots', slots)
  return slots
}

const OF_DESKTOP = 'This computer'

/** Users mostly open a service from another computer, and would take "This computer" to mean their own. */
export function localNodeName(stored: string | undefined, host: LocalNodeSettings['host']): string {
  if (host === 'desktop') return stored ?? OF_DESKTOP
  return stored === undefined || stored === OF_DESKTOP ? 'Local node' : stored
}

function localNodeRow(
  stored: StoredNode | undefined,
  slots: number | null,
  { host, addedAtMs }: Pick<LocalNodeSettings, 'host'> & Pick<StoredNode, 'addedAtMs'>
): StoredNode {
  return {
    tags: [],
    mode: 'active',
    addedAtMs,
    queueAhead: 0,
    giveUpAfterSeconds: null,
    logsKept: null,
    group: null,
    ...stored,
    id: LOCAL_NODE_ID,
    name: localNodeName(stored?.name, host),
    kind: 'local',
    url: '',
    username: null,
    sealedPassword: null,
    caCertificate: null,
    slots,
    scrapydVersion: null,
    clientCertificate: null,
    sealedClientKey: null,
    sealedProxyUrl: null,
    sourceId: null,
    tokenHash: null,
    kubernetes: null
  }
}
