import { showUnseen } from '../../shared/unseen.ts'
import { KEPT_MAX } from '../projects/seen-on-nodes.ts'
import type { SeenJob } from './node-client.ts'

/** What one node may list at most: far more than any real one has, little enough for any number of broken ones. */
export const LISTED_MAX = {
  projects: 2_000,
  /** Of all its projects together, like the spiders. */
  ...KEPT_MAX,
  /** All three lists of listjobs.json together. */
  jobs: 50_000,
  /** Jobs that others started there, as clients see them. */
  externalShown: 1_000,
  nameCharacters: 1_000
} as const

type Noun = 'projects' | 'versions' | 'spiders'

/** Counts what one inventory of a node lists, and takes it up to the limits. */
export class InventoryQuota {
  readonly #left: Record<Noun, number>
  readonly #limits: Record<Noun, number>
  readonly #exceeded = new Set<Noun>()
  #unusable = 0

  constructor(limits: Record<Noun, number> = LISTED_MAX) {
    this.#limits = limits
    this.#left = { ...limits }
  }

  /** The names that are recorded: those that can be used, as far as there is room. */
  take<Name extends string>(noun: Noun, names: readonly Name[], isUsable: (name: Name) => boolean): Name[] {
    const usable = names.filter(isUsable)
    this.#unusable += names.length - usable.length
    const room = this.#left[noun]
    if (usable.length > room) this.#exceeded.add(noun)
    this.#left[noun] = Math.max(0, room - usable.length)
    if (usable.length <= room) return usable
    // Nodes list versions in ascending order, and the newest one runs.
    return noun === 'versions' ? usable.slice(usable.length - room) : usable.slice(0, room)
  }

  /** There was no room for all of them beside what is kept of the node. */
  exceed(nouns: readonly Noun[]): void {
    for (const noun of nouns) this.#exceeded.add(noun)
  }

  isFull(noun: Noun): boolean {
    return this.#left[noun] === 0 && this.#exceeded.has(noun)
  }

  /** What was left out, worded to follow "it lists"; null: nothing. */
  problem(): string | null {
    const parts = [...this.#exceeded].map((noun) => `more than ${this.#limits[noun].toLocaleString('en-US')} ${noun}`)
    if (this.#unusable > 0) {
      parts.push(
        `${this.#unusable.toLocaleString('en-US')} ${this.#unusable === 1 ? 'name' : 'names'} that cannot be used`
      )
    }
    return parts.length === 0 ? null : parts.join(' and ')
  }
}

/**
 * The jobs of others that clients are shown, with what is invisible in their names written out; `isShownAs` finds them
 * by those names. The counters of the node are complete.
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

/** Whether a client that names this run means this job, by the names that the node lists or by those it was shown. */
export function isShownAs(job: SeenJob, run: Pick<SeenJob, 'project' | 'jobid'>): boolean {
  const isSame = (name: string, named: string) => name === named || showUnseen(name) === named
  return isSame(job.jobid, run.jobid) && isSame(job.project, run.project)
}
