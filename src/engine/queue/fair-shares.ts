import type { ProjectName } from '../../shared/contract/index.ts'
/** So many projects without a place of their own in the turns are remembered before they are forgotten. */
const REMEMBERED_MAX = 10_000

/**
 * Whose turn it is among projects with equal shares of the slots: each job that goes moves its project on by 1 /
 * weight, and the one furthest behind goes first. With a single slot, where every share is zero whenever somebody may
 * go, this alone makes projects take turns by weight. A project that was idle begins where the others are: it saves
 * nothing up.
 */
export class FairShares {
  readonly #passes = new Map<string, number>()
  #floor = 0

  passOf(project: ProjectName): number {
    return Math.max(this.#passes.get(project) ?? 0, this.#floor)
  }

  /** One of its jobs goes. */
  advance(project: ProjectName, weight: number): void {
    this.#passes.set(project, this.passOf(project) + 1 / weight)
    if (this.#passes.size > REMEMBERED_MAX) this.#forgetIdle()
  }

  /** Nobody who waits is further behind than this. */
  raiseFloor(pass: number): void {
    this.#floor = Math.max(this.#floor, pass)
  }

  #forgetIdle(): void {
    for (const [project, pass] of this.#passes) if (pass <= this.#floor) this.#passes.delete(project)
  }
}
