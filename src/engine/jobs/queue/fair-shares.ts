import type { ProjectName } from '../../../shared/contract/index.ts'
/** When there are more passes than this, those of idle projects are dropped. */
const REMEMBERED_MAX = 10_000

/**
 * Decides whose turn it is among projects with equal shares of the slots (stride scheduling). Each job sent advances
 * its project's pass by 1 / weight, and the lowest pass goes first. With a single slot, where every share is zero
 * whenever a job can go, this alone makes projects take turns by weight. A project that was idle starts at the pass
 * of the others, because idle time earns no credit.
 */
export class FairShares {
  readonly #passes = new Map<string, number>()
  #floor = 0

  passOf(project: ProjectName): number {
    return Math.max(this.#passes.get(project) ?? 0, this.#floor)
  }

  advance(project: ProjectName, weight: number): void {
    this.#passes.set(project, this.passOf(project) + 1 / weight)
    if (this.#passes.size > REMEMBERED_MAX) this.#forgetIdle()
  }

  /** `pass` is the lowest pass of the waiting projects. */
  raiseFloor(pass: number): void {
    this.#floor = Math.max(this.#floor, pass)
  }

  #forgetIdle(): void {
    for (const [project, pass] of this.#passes) if (pass <= this.#floor) this.#passes.delete(project)
  }
}
