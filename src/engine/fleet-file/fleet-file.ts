import pLimit from 'p-limit'
import type { FleetFileChange } from '../../shared/contract/index.ts'
import { breather } from '../runtime/breather.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { maskTemplate } from '../commands/template-secrets.ts'
import { withoutCredentials } from '../nodes/scrapyd/proxy.ts'
import { checkSteps, createNotes } from './check.ts'
import type { FleetForm } from './form.ts'
import { applyStep, type FleetFileParts } from './apply-step.ts'
import type { CurrentFleet, Step } from './plan.ts'
import { planInThread } from './plan-in-thread.ts'
import { readFleet } from './read-fleet.ts'
import { writeFleetFile } from './yaml.ts'

const HEADING = `Fleet file of Scrapdeck: what is set, without passwords, keys and other secrets (dots stand in their place,
and an engine that has them keeps them). "scrapdeck apply FILE" shows what would change, and does it when told to.`

/** Files that may wait for the thread that reads them. */
const WAITING_MAX = 5
const RETRY_AFTER_SECONDS = 10

/** Changes listed in the error's message; `data.done` has all of them. */
const MADE_TOLD = 10

/** Fleet as code: exports the settings as one YAML file and applies such files, one at a time. */
export class FleetFiles {
  readonly #parts: FleetFileParts
  readonly #oneAtATime = pLimit(1)
  readonly #oneThread = pLimit(1)

  constructor(parts: FleetFileParts) {
    this.#parts = parts
  }

  async export(): Promise<string> {
    return writeFleetFile(toShow(await readFleet(this.#parts)), HEADING)
  }

  /** The changes that applying the file would make. Rejects with FLEET_FILE_INVALID. */
  async plan(yaml: string, prune: boolean): Promise<FleetFileChange[]> {
    return (await this.#plan(yaml, prune)).map(({ change }) => change)
  }

  /** An error partway lists the changes that were made. Repeating is safe: matching items are left alone. */
  apply(yaml: string, prune: boolean): Promise<FleetFileChange[]> {
    return this.#oneAtATime(async () => {
      const steps = await this.#plan(yaml, prune)
      const done: FleetFileChange[] = []
      for (const step of steps) {
        try {
          await applyStep(step, this.#parts)
        } catch (error) {
          throw done.length > 0 ? inTheMiddle(error, step, done, steps.length) : error
        }
        done.push(step.change)
      }
      return done
    })
  }

  async #plan(yaml: string, prune: boolean): Promise<Step[]> {
    const current = await readFleet(this.#parts)
    const steps = await this.#read(yaml, current, prune)
    await checkSteps(steps, current, this.#parts)
    const breathe = breather(this.#parts.clock)
    const withNotes = createNotes(this.#parts)
    const noted: Step[] = []
    for (const step of steps) {
      await breathe()
      noted.push(withNotes(step))
    }
    return noted
  }

  #read(yaml: string, current: CurrentFleet, prune: boolean): Promise<Step[]> {
    if (this.#oneThread.pendingCount >= WAITING_MAX) {
      throw new ScrapdeckError('TOO_MANY_REQUESTS', 'Other fleet files are being read. Try again in a moment', {
        data: { retryAfterSeconds: RETRY_AFTER_SECONDS }
      })
    }
    return this.#oneThread(() => planInThread({ yaml, current, prune }, this.#parts.clock))
  }
}

/** Failures that no check can foresee: a full disk, a node that somebody else removed in the meantime. */
function inTheMiddle(error: unknown, step: Step, done: FleetFileChange[], count: number): ScrapdeckError {
  const { noun, name } = step.change
  const { code, message, data } = isScrapdeckError(error)
    ? error
    : { code: 'INTERNAL' as const, message: 'This failed; see the log', data: undefined }
  const made = done.slice(0, MADE_TOLD).map(({ act, noun: what, name: which }) => `${act} ${what} ${which}`)
  const more = done.length > made.length ? ` and ${done.length - made.length} more` : ''
  return new ScrapdeckError(
    code,
    `${noun} ${name}: ${message.replace(/\.?$/, '.')} ${done.length} of ${count} changes were made before it (${made.join(', ')}${more}), the others were not. Apply the file again when this is mended: what is as it should be is left alone`,
    { cause: error, data: { ...data, done } }
  )
}

/** Without secrets and without items that others manage. */
function toShow(current: CurrentFleet): FleetForm {
  const ours = <T>(items: { item: T; isOurs: boolean }[]) =>
    items.filter(({ isOurs }) => isOurs).map(({ item }) => item)
  const { nodes, discovery, projects, limits, schedules, chains, webhooks } = current
  return {
    version: 1,
    nodes: ours(nodes).map(({ password: _password, clientKey: _clientKey, proxyUrl, ...node }) => ({
      ...node,
      proxyUrl: proxyUrl === null ? null : withoutCredentials(proxyUrl)
    })),
    discovery: ours(discovery),
    projects: ours(projects),
    limits: ours(limits),
    schedules: schedules.map(({ item: { paused, pauseNote, ...schedule }, isPausedByOperator }) => ({
      ...schedule,
      jobs: schedule.jobs.map(maskTemplate),
      ...(isPausedByOperator === true ? { paused, pauseNote } : {})
    })),
    chains: ours(chains).map((chain) => ({ ...chain, run: maskTemplate(chain.run) })),
    webhooks: ours(webhooks)
  }
}
