import type { Environment } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** The Pythons that run projects: the main one, those that projects name, and those made from their requirements. */
export interface Environments {
  list(): Environment[]
  /** The log of an environment's making, from its start, as it grows. Throws NOT_FOUND. */
  log(id: string, signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void>
  /** Begins to make it anew and resolves at once. Throws NOT_FOUND. */
  rebuild(id: string): Promise<Environment>
  /** Throws NOT_FOUND, BAD_INPUT where projects use it. */
  remove(id: string): Promise<void>
}

/** Where there is no local node there are no environments. */
export const NO_ENVIRONMENTS: Environments = {
  list: () => [],
  log: () => notThere(),
  rebuild: async () => notThere(),
  remove: async () => notThere()
}

function notThere(): never {
  throw new ScrapdeckError('NOT_FOUND', 'The local node is turned off; it has no environments.')
}
