import { isDeepStrictEqual } from 'node:util'
import type { FleetFileChange } from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Permission } from '../../../shared/permissions.ts'
import { asActorStores, requireOfActor, requireOwnerForFile } from '../../access/acting.ts'
import { yielder } from '../../runtime/yielder.ts'
import { applyStep, type FleetFileParts } from './apply-step.ts'
import { checkSteps, createNotes } from './check.ts'
import type { FleetForm, ItemOf, Part } from './form.ts'
import { maskItem } from './item-secrets.ts'
import type { CurrentFleet, CurrentItem, Step } from './plan.ts'
import { planInThread } from './plan-in-thread.ts'
import { readFleet } from './read-fleet.ts'
import { writeFleetFile } from './yaml.ts'
import { withStop } from '../../../shared/texts/parts.ts'

const HEADING = `Fleet file of Scrapdeck: what is set, without passwords, keys and other secrets (dots stand in their place,
and an engine that has them keeps them). "scrapdeck apply FILE" shows what would change; with --yes, it applies that.`

/** The maximum number of completed changes in the error message. `data.done` contains all of them. */
const LISTED_IN_MESSAGE = 10

export async function exportFleet(parts: FleetFileParts): Promise<string> {
  return writeFleetFile(toShow(await readFleet(parts)), HEADING)
}

/** `inTurn` waits until other files have been read. Rejects with FLEET_FILE_INVALID. */
export async function planChanges(
  { yaml, prune }: { yaml: string; prune: boolean },
  parts: FleetFileParts,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>
): Promise<Step[]> {
  const current = await readFleet(parts)
  const steps = await inTurn(() => planInThread({ yaml, current, prune }, parts.clock))
  await checkSteps(steps, current, parts)
  const yieldTurn = yielder(parts.clock)
  const withNotes = createNotes(parts)
  const noted: Step[] = []
  for (const step of steps) {
    await yieldTurn()
    if (isChanged(step)) noted.push(await withNotes(step))
  }
  return noted
}

/**
 * Templates of an actor who may not choose code are stored with an additional setting. It does not count as a change.
 */
function isChanged({ item, before, change }: Step): boolean {
  if (item === null || before === null) return true
  if ('rules' in item && 'rules' in before)
    return (
      change.fields.some(({ name }) => name !== 'jobs') || !isDeepStrictEqual(item.jobs.map(asActorStores), before.jobs)
    )
  if ('run' in item && 'run' in before)
    return change.fields.some(({ name }) => name !== 'run') || !isDeepStrictEqual(asActorStores(item.run), before.run)
  return true
}

/** The permissions that the equivalent operations need, because a file must not bypass them. */
const NEEDED: Record<Part, readonly Permission[]> = {
  nodes: ['nodes.change', 'nodes.operate'],
  discovery: ['nodes.change'],
  projects: ['projects.change'],
  limits: ['limits.change'],
  schedules: ['schedules.change'],
  chains: ['schedules.change'],
  webhooks: ['webhooks.change'],
  alerts: ['alerts.change'],
  retention: ['storage.change']
}

export function requireForSteps(steps: readonly Step[]): void {
  for (const part of new Set(steps.map((step) => step.part)))
    for (const needed of NEEDED[part]) requireOfActor(null, needed, `Applying a fleet file with changes of ${part}`)
  const sources = steps.filter((step): step is Step<'discovery'> => step.part === 'discovery')
  for (const { item, before } of sources) {
    if (item !== null && !isDeepStrictEqual(item.source, before?.source)) requireOwnerForFile(item)
  }
}

export async function makeChanges(steps: Step[], parts: FleetFileParts): Promise<FleetFileChange[]> {
  const done: FleetFileChange[] = []
  for (const step of steps) {
    try {
      await applyStep(step, parts)
    } catch (error) {
      throw done.length > 0 ? inTheMiddle(error, step, done, steps.length) : error
    }
    done.push(step.change)
  }
  return done
}

function inTheMiddle(error: unknown, step: Step, done: FleetFileChange[], count: number): ScrapdeckError {
  const { noun, name } = step.change
  const { code, message, data } = isScrapdeckError(error)
    ? error
    : { code: 'INTERNAL' as const, message: 'This failed; see the log', data: undefined }
  const made = done.slice(0, LISTED_IN_MESSAGE).map(({ act, noun: what, name: which }) => `${act} ${what} ${which}`)
  const more = done.length > made.length ? ` and ${done.length - made.length} more` : ''
  return new ScrapdeckError(
    code,
    sentence('api.fleet_file_partly_applied', {
      noun,
      name,
      message: withStop(message),
      done: done.length,
      count,
      made,
      more
    }),
    { cause: error, data: { ...data, done } }
  )
}

/** Omits secrets, and items that discovery or the configuration manages. */
function toShow(current: CurrentFleet): FleetForm {
  const ours = <P extends Part>(part: P): ItemOf<P>[] =>
    (current[part] as CurrentItem<P>[]).filter(({ isOurs }) => isOurs).map(({ item }) => maskItem(part, item))
  return {
    version: 1,
    // An omitted password or key stays unchanged. A mask would become the new password.
    nodes: ours('nodes').map(({ password: _password, clientKey: _clientKey, ...node }) => node),
    discovery: ours('discovery').map(({ password: _password, ...source }) => source),
    projects: ours('projects'),
    limits: ours('limits'),
    schedules: current.schedules.map(({ item, isPausedByOperator }) => {
      const { paused, pauseNote, ...schedule } = maskItem('schedules', item)
      return { ...schedule, ...(isPausedByOperator === true ? { paused, pauseNote } : {}) }
    }),
    chains: ours('chains'),
    webhooks: ours('webhooks'),
    alerts: ours('alerts'),
    retention: current.retention.length === 0 ? undefined : ours('retention')
  }
}
