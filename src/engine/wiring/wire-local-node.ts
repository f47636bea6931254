import { availableParallelism } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { PythonState, UsageSample } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { CancelWaitsMs } from '../../shared/run-limits.ts'
import type { EngineOptions } from './engine-options.ts'
import { type Environments, NO_ENVIRONMENTS } from '../launcher/pythons/environments.ts'
import { openLocalNode, type LocalNode } from '../launcher/local-node.ts'
import { localNodeRow, takeConfiguredSlots } from './local-node-row.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AttemptReader, JobReader, NodeStore, SettingStore } from '../store/store.ts'

/** Where the local node's files are, in Scrapyd's layout. */
export interface LocalLayout {
  /** The engine's own, in the data directory. */
  own: string
  eggs: string
  /** null: nobody is shown logs; outcomes are judged by them all the same, where they are is `writtenLogs`. */
  logs: string | null
  writtenLogs: string
  /** What is not a path is a storage elsewhere; `itemFiles` is null then. */
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

/** The node inside the engine, or the answers of an engine that has none. */
export interface LocalNodeParts {
  localNode: LocalNode | null
  environments: Environments
  /** What an operator has set now. */
  setSlots(slots: number): void
  python(): PythonState
  /** Of the job's newest run on the local node. Throws JOB_NOT_FOUND. */
  usageOf(jobId: string): Promise<UsageSample[]>
  /** Its row: made at the first start. */
  putRow(): Promise<void>
  /** From now on its changes are told, and first what is so now. */
  follow(listeners: LocalNodeListeners): void
}

interface LocalNodeListeners {
  onChange: () => void
  onUsage: () => void
  /** A Python was found or made, was lost, or gets on with being made; `isNewReady`: one can be used that could not before. */
  onPythons: (isNewReady: boolean) => void
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

export async function wireLocalNode(
  options: EngineOptions,
  parts: {
    layout: LocalLayout
    store: NodeStore & JobReader & AttemptReader & SettingStore
    projects: Projects
    cancelWaitsMs: CancelWaitsMs
    clock: Clock
    logger: Logger
  }
): Promise<LocalNodeParts> {
  const { layout, store, projects, cancelWaitsMs, clock, logger } = parts
  const stored = (await store.listNodes()).find(({ id }) => id === LOCAL_NODE_ID)
  const slotsOfRow =
    options.localSlots ?? (await takeConfiguredSlots(store, options.configuredSlots)) ?? stored?.slots ?? null
  let slots = slotsOfRow ?? availableParallelism()
  const localNode = options.seams?.localNode ?? (hasLocalNode(options) ? await open() : null)
  const environments = localNode?.environments ?? NO_ENVIRONMENTS

  function open(): Promise<LocalNode> {
    return openLocalNode({
      directory: layout.own,
      resourcesDirectory: options.resourcesDirectory,
      slots: () => slots,
      pythonPath: options.pythonPath,
      projectPythons: {
        names: () => projects.names(),
        of: (project) => projects.settingsOf(project).python
      },
      source: projects.source,
      directories: {
        logsDirectory: layout.writtenLogs,
        itemsDirectory: layout.items,
        jobsDirectory: layout.jobs
      },
      cancelWaitsMs,
      clock,
      logger
    })
  }

  return {
    localNode,
    environments,
    setSlots(asked) {
      slots = asked
    },
    python: () => localNode?.python() ?? NO_PYTHON,
    async usageOf(jobId) {
      if ((await store.getJob(jobId)) === null) {
        throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${jobId}; it may have been deleted`)
      }
      const attempt = (await store.listAttempts(jobId)).findLast(({ nodeId }) => nodeId === LOCAL_NODE_ID)
      return attempt === undefined ? [] : (localNode?.usageOf(attempt.jobid) ?? [])
    },
    async putRow() {
      if (localNode !== null) await store.putNode(localNodeRow(stored, slotsOfRow, clock))
    },
    follow({ onChange, onUsage, onPythons }) {
      if (localNode === null) return
      let ready = new Set<string | null>()
      const look = () => {
        const before = ready
        ready = new Set(environments.list().flatMap(({ path, state }) => (state === 'ready' ? [path] : [])))
        onPythons([...ready].some((path) => !before.has(path)))
      }
      localNode.onChange(onChange)
      localNode.onUsage(onUsage)
      localNode.onPythons(look)
      look()
    }
  }
}
