import { EventEmitter } from 'node:events'
import { availableParallelism } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { JobId, PythonState, UsageSample } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import type { CancelWaitsMs } from '../../../shared/run-limits.ts'
import type { Base } from '../../runtime/tools.ts'
import type { EngineOptions } from '../../assembly/engine-options.ts'
import { type Environments, NO_ENVIRONMENTS } from './pythons/environments.ts'
import { LocalNode } from './local-node.ts'
import { Pruner } from './runs/prune-files.ts'
import type { Projects } from '../../projects/projects.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { StoredNode } from '../../model/records.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { NodeStore, SettingStore } from '../../storage/store.ts'

/** The local node's directories, in Scrapyd's layout. */
export interface LocalLayout {
  /** The engine's own, in the data directory. */
  own: string
  eggs: string
  /** null: logs are not shown. They are still written to `writtenLogs`, because outcomes are judged from them. */
  logs: string | null
  writtenLogs: string
  /** If not a path, it is a storage elsewhere, and `itemFiles` is null. */
  items: string | null
  itemFiles: string | null
  jobs: string | null
}

export function layOutLocalNode({ dataDirectory, directories = {} }: EngineOptions): LocalLayout {
  const own = join(dataDirectory, 'local')
  const { eggs = join(own, 'eggs'), logs = join(own, 'logs'), items = join(own, 'items'), jobs = null } = directories
  const itemFiles = isAbsolute(items ?? '') ? items : null
  return { own, eggs, logs, writtenLogs: logs ?? join(own, 'logs'), items, itemFiles, jobs }
}

const TURNED_OFF = 'The local node is turned off'
const NO_PYTHON: PythonState = {
  state: 'missing',
  path: null,
  version: null,
  scrapyVersion: null,
  start: { mode: 'cold', text: TURNED_OFF },
  problem: TURNED_OFF
}

export function hasLocalNode({ localSlots, seams }: EngineOptions): boolean {
  return seams?.localNode === undefined ? localSlots !== 0 : seams.localNode !== null
}

/**
 * In a cluster, the engine whose data directory has the runs and logs of the local node from the time when the store
 * belonged to a single engine (copy-store): the first leader. null: there was none.
 */
export async function formerLocalEngine(
  { leadership }: Pick<EngineOptions, 'leadership'>,
  store: SettingStore & NodeStore
): Promise<string | null> {
  if (leadership === undefined || !(await store.listNodes()).some(({ id }) => id === LOCAL_NODE_ID)) return null
  const known = await store.getSetting('local.engine')
  if (known === null) await store.putSetting('local.engine', leadership.name)
  return known ?? leadership.name
}

interface LocalNodeEvents {
  /** One of its jobs started or ended. */
  changed: []
  /** There are new resource usage samples of runs. */
  usage: []
  /** The state of a Python changed; `isNewReady`: one became usable. */
  pythons: [isNewReady: boolean]
}

interface LocalNodeParts extends Base {
  layout: LocalLayout
  projects: Projects
  /** For runs that exceed a limit. */
  limitWaitsMs: CancelWaitsMs
  /** Whether the files of this job are exempt from pruning. */
  isNeeded: (jobid: string) => boolean
}

/** Wraps the local node; if the engine has none, stands in for it. */
export class LocalNodeRoom {
  readonly events = new EventEmitter<LocalNodeEvents>()
  readonly #parts: LocalNodeParts
  readonly #stored: StoredNode | undefined
  readonly #host: EngineOptions['host']
  /** `slots` of the stored row; null: the CPU count. */
  readonly #slotsOfRow: number | null
  /** The operator's current setting. */
  #slots: number
  #node: LocalNode | null = null
  #readyPythons = new Set<string | null>()

  private constructor(
    parts: LocalNodeParts,
    {
      stored,
      slotsOfRow,
      host
    }: Pick<EngineOptions, 'host'> & {
      stored: StoredNode | undefined
      slotsOfRow: number | null
    }
  ) {
    this.#parts = parts
    this.#stored = stored
    this.#host = host
    this.#slotsOfRow = slotsOfRow
    this.#slots = slotsOfRow ?? availableParallelism()
  }

  /** Resumes the runs of an earlier engine. */
  static async open(options: EngineOptions, parts: LocalNodeParts): Promise<LocalNodeRoom> {
    const { layout, store, projects, limitWaitsMs, isNeeded, clock, logger } = parts
    const stored = (await store.listNodes()).find(({ id }) => id === LOCAL_NODE_ID)
    const slots =
      options.localSlots ?? (await applyConfiguredSlots(store, options.configuredSlots)) ?? stored?.slots ?? null
    const room = new LocalNodeRoom(parts, { stored, slotsOfRow: slots, host: options.host })
    if (!hasLocalNode(options)) return room
    const { jobsToKeep: keep = null } = options
    const pruned = [layout.writtenLogs, layout.itemFiles].filter((directory) => directory !== null)
    room.#node =
      options.seams?.localNode ??
      (await LocalNode.open({
        directory: layout.own,
        resourcesDirectory: options.resourcesDirectory,
        slots: () => room.#slots,
        pythonPath: options.pythonPath,
        warmStarts: options.warmStarts,
        dataDirectory: options.dataDirectory,
        keepApart: options.keepApart,
        projectPythons: { names: () => projects.catalog.names(), of: (project) => projects.settingsOf(project).python },
        source: (project, version) => projects.source(project, version),
        directories: { logsDirectory: layout.writtenLogs, itemsDirectory: layout.items, jobsDirectory: layout.jobs },
        oldFiles: keep === null ? null : new Pruner({ directories: pruned, keep, isNeeded, logger }),
        limitWaitsMs,
        clock,
        logger
      }))
    return room
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

  /** Usage samples of the job's newest run on the local node. Throws JOB_NOT_FOUND. */
  async usageOf(jobId: JobId): Promise<UsageSample[]> {
    const { store } = this.#parts
    await requireJob(store, jobId)
    const attempt = (await store.listAttempts(jobId)).findLast(({ nodeId }) => nodeId === LOCAL_NODE_ID)
    return attempt === undefined ? [] : (this.#node?.usage.usageOf(attempt.jobid) ?? [])
  }

  /** Writes the node's row, which is created at the first start. */
  async putRow(): Promise<void> {
    if (this.#node === null) return
    await this.#parts.store.putNode(
      localNodeRow(this.#stored, this.#slotsOfRow, { host: this.#host, clock: this.#parts.clock })
    )
  }

  /** Starts to emit events, first the current state of the Pythons. */
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

/** The slots from the configuration if they changed since the last start, else null: an operator's change persists. */
async function applyConfiguredSlots(store: SettingStore, slots: number | undefined): Promise<number | null> {
  const taken = await store.getSetting('local.configuredSlots')
  if (slots === undefined || slots === taken) return null
  await store.putSetting('local.configuredSlots', slots)
  return slots
}

const OF_DESKTOP = 'This computer'

/** The default name. A service is mostly used from another computer, which "This computer" would seem to mean. */
export function localNodeName(stored: string | undefined, host: EngineOptions['host']): string {
  if (host === 'desktop') return stored ?? OF_DESKTOP
  return stored === undefined || stored === OF_DESKTOP ? 'Local node' : stored
}

/** The local node's row: created at the first start, its settings kept afterwards. */
function localNodeRow(
  stored: StoredNode | undefined,
  slots: number | null,
  { host, clock }: Pick<EngineOptions, 'host'> & { clock: Clock }
): StoredNode {
  return {
    tags: [],
    mode: 'active',
    addedAtMs: clock.nowMs(),
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
