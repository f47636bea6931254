import { type Message, say } from '../../shared/texts/message.ts'
import { showUnseen } from '../../shared/unseen.ts'
import { KEPT_MAX } from '../projects/seen-on-nodes.ts'
import type { SeenJob } from './node-client.ts'

/** The maximum that one node can list. Real nodes list far less, and even many broken nodes do no harm. */
export const LISTED_MAX = {
  projects: 2_000,
  /** Total for all projects of the node. */
  ...KEPT_MAX,
  /** Total of the three lists in listjobs.json. */
  jobs: 50_000,
  externalShown: 1_000,
  nameCharacters: 1_000
} as const

type Noun = 'projects' | 'versions' | 'spiders'

export class InventoryQuota {
  readonly #left: Record<Noun, number>
  readonly #limits: Record<Noun, number>
  readonly #exceeded = new Set<Noun>()
  #unusable = 0

  constructor(limits: Record<Noun, number> = LISTED_MAX) {
    this.#limits = limits
    this.#left = { ...limits }
  }

  take<Name extends string>(noun: Noun, names: readonly Name[], isUsable: (name: Name) => boolean): Name[] {
    const usable = names.filter(isUsable)
    this.#unusable += names.length - usable.length
    const room = this.#left[noun]
    if (usable.length > room) this.#exceeded.add(noun)
    this.#left[noun] = Math.max(0, room - usable.length)
    if (usable.length <= room) return usable
    // Nodes list versions in ascending order, and we need the newest.
    return noun === 'versions' ? usable.slice(usable.length - room) : usable.slice(0, room)
  }

  /** Records that the storage had no room for all items of these kinds. */
  exceed(nouns: readonly Noun[]): void {
    for (const noun of nouns) this.#exceeded.add(noun)
  }

  isFull(noun: Noun): boolean {
    return this.#left[noun] === 0 && this.#exceeded.has(noun)
  }

  /** Describes what was left out, phrased to follow "it lists". */
  problem(): Message | null {
    if (this.#exceeded.size === 0 && this.#unusable === 0) return null
    const { projects, versions, spiders } = this.#limits
    return say('excess.listed', { nouns: [...this.#exceeded], projects, versions, spiders, unusable: this.#unusable })
  }
}

/**
 * The external jobs for clients, with invisible characters in names made visible. `isShownAs` recognizes a job by its
 * shown name.
 */
export function shownExternal({ running, pending }: { running: SeenJob[]; pending: SeenJob[] }): {
  running: SeenJob[]
  pending: SeenJob[]
} {
  const shown = running.slice(0, LISTED_MAX.externalShown)
  return {
    running: shown.map(withoutUnseen),
    pending: pending.slice(0, LISTED_MAX.externalShown - shown.length).map(withoutUnseen)
  }
}

function withoutUnseen(job: SeenJob): SeenJob {
  const project = showUnseen(job.project) as SeenJob['project']
  return { ...job, project, spider: showUnseen(job.spider), jobid: showUnseen(job.jobid) }
}

/** Whether a client means this job, by its real name or by the name that was shown. */
export function isShownAs(job: SeenJob, run: Pick<SeenJob, 'project' | 'jobid'>): boolean {
  const isSame = (name: string, named: string) => name === named || showUnseen(name) === named
  return isSame(job.jobid, run.jobid) && isSame(job.project, run.project)
}
