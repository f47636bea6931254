import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Distribution } from './distribution.ts'
import type { Projects } from './projects.ts'

/** Sends the latest version of projects that want so (`distribution: at_once`) to every node that may run it, by itself. */
export interface AtOnce {
  /** A version came, a node came or came back, a back-off is over, a setting changed: looks what is to be sent. Cheap; call it freely. */
  look(): void
  stop(): void
}

export interface AtOnceOptions {
  projects: Pick<Projects, 'names' | 'settingsOf' | 'latestVersion'>
  distribution: Pick<Distribution, 'stateOf' | 'ensure'>
  /** Nodes that are up and take jobs. */
  nodeIds: () => string[]
  clock: Clock
  logger: Logger
}

/** A fleet that starts has a change a node: one look serves many. */
const LOOK_AFTER_MS = 200

/** Uploads share one line to the outside. */
const SENT_AT_ONCE = 8

interface Target {
  nodeId: string
  project: string
  version: string
}

export function createAtOnce(options: AtOnceOptions): AtOnce {
  const { projects, distribution, clock, logger } = options
  let wanted: Target[] = []
  let sending = 0
  let timer: Timer | null = null
  let isStopped = false

  return {
    look() {
      if (isStopped || timer !== null || projectsAtOnce().length === 0) return
      timer = clock.setTimer(LOOK_AFTER_MS, () => {
        timer = null
        wanted = findWanted()
        sendNext()
      })
    },
    stop() {
      isStopped = true
      timer?.cancel()
      wanted = []
    }
  }

  function projectsAtOnce(): string[] {
    return projects.names().filter((project) => projects.settingsOf(project).distribution === 'at_once')
  }

  /** What failed waits for its back-off in `stateOf`, which tells when that is over. */
  function findWanted(): Target[] {
    const nodeIds = options.nodeIds()
    return projectsAtOnce().flatMap((project) => {
      const version = projects.latestVersion(project)
      if (version === null) return []
      return nodeIds.map((nodeId) => ({ nodeId, project, version })).filter(isAbsent)
    })
  }

  function sendNext(): void {
    while (sending < SENT_AT_ONCE && wanted.length > 0) {
      const target = wanted.shift()!
      if (!isAbsent(target)) continue
      sending++
      distribution
        .ensure(target.nodeId, target.project, target.version)
        .catch((error: unknown) => {
          if (!isStopped)
            logger.warn({ ...target, error: String(error) }, 'an egg could not be sent at once; tried again later')
        })
        .finally(() => {
          sending--
          sendNext()
        })
    }
  }

  function isAbsent({ nodeId, project, version }: Target): boolean {
    return distribution.stateOf(nodeId, project, version) === 'absent'
  }
}
