import pLimit from 'p-limit'
import type { FleetFileChange } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { addToAudit } from '../../access/acting.ts'
import type { FleetFileParts } from './apply-step.ts'
import type { Step } from './plan.ts'

const WAITING_MAX = 5
const RETRY_AFTER_SECONDS = 10

// Loaded on first use, because YAML and the forms take 5 % of the startup time.
const changes = () => import('./changes.ts')

export class FleetFiles {
  readonly #parts: FleetFileParts
  readonly #oneAtATime = pLimit(1)
  readonly #oneThread = pLimit(1)

  constructor(parts: FleetFileParts) {
    this.#parts = parts
  }

  async export(): Promise<string> {
    const { exportFleet } = await changes()
    return exportFleet(this.#parts)
  }

  /** Rejects with FLEET_FILE_INVALID. */
  async plan(yaml: string, prune: boolean): Promise<FleetFileChange[]> {
    return (await this.#plan(yaml, prune)).map(({ change }) => change)
  }

  /** If applying the file fails partway, the error lists the changes made. Applying it again is safe. */
  apply(yaml: string, prune: boolean): Promise<FleetFileChange[]> {
    return this.#oneAtATime(async () => {
      const { makeChanges, requireForSteps } = await changes()
      const steps = await this.#plan(yaml, prune)
      requireForSteps(steps)
      addToAudit({ plan: steps.map(({ change: { act, noun, name } }) => `${act} ${noun} ${name}`) })
      return makeChanges(steps, this.#parts)
    })
  }

  async #plan(yaml: string, prune: boolean): Promise<Step[]> {
    const { planChanges } = await changes()
    return planChanges({ yaml, prune }, this.#parts, (work) => this.#inTurn(work))
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#oneThread.pendingCount >= WAITING_MAX) {
      throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('api.fleet_files_being_read'), {
        data: { retryAfterSeconds: RETRY_AFTER_SECONDS }
      })
    }
    return this.#oneThread(work)
  }
}
