import type { Mutation } from './world/hooks.ts'

/** A bug that the simulation must find. */
export interface Mutant {
  name: string
  mutations: Mutation[]
  /** Rules of the checker of which it breaks one. */
  breaks: string[]
  /** It is found within so many stories. */
  seeds: number
}

export const MUTANTS: Mutant[] = []
