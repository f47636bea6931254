import type { PythonState } from '../../shared/contract/index.ts'
import type { NodeClient } from '../nodes/node-client.ts'

/**
 * The node inside the engine: a NodeClient whose spiders are child processes. They outlive the engine; after a restart
 * (even kill -9) `openLocalNode` finds them again by their run directories: still running, ended with their exit
 * status, or accepted and not yet started (then it starts them). A jobid is accepted once as long as its run is
 * remembered (the newest 1,000 that ended): a second schedule with it is refused. In a snapshot, an `exit` whose code
 * and signal are both null means that nobody saw the run end: the machine went down, or its supervisor was killed.
 */
export interface LocalNode extends NodeClient {
  /** How many spiders run at once: the CPU count unless set. */
  readonly slots: number
  python(): PythonState
  /** Calls the listener when a job starts or ends, and when `python()` changes: no poll needed. */
  onChange(listener: () => void): () => void
  /** Looks for Python and Scrapy again (after an environment was made). */
  refreshPython(): Promise<PythonState>
  /** Makes an environment with resources/python/requirements.txt; reports each step. */
  createEnvironment(report: (text: string, share: number | null) => void, signal?: AbortSignal): Promise<void>
  /** The spiders of an egg, by importing it in a process of its own. Throws EGG_IMPORT_FAILED with the traceback's end, PYTHON_MISSING. */
  listSpidersOfEgg(eggPath: string, signal?: AbortSignal): Promise<string[]>
  /** Jobs running now: what quitting must ask about. */
  runningCount(): number
  /** INT, then KILL after a wait, to every running spider. */
  stopAll(): Promise<void>
}
