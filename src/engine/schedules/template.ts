import { expandText, type TextValues } from '../../shared/calendar/index.ts'
import type { RunItem, RunTemplate, ScheduleSettings } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/api.ts'
import { MAX_ORDER_BYTES } from '../../shared/job-defaults.ts'
import { yielder } from '../runtime/yielder.ts'
import type { Clock } from '../runtime/clock.ts'

/** The maximum number of jobs per firing. The jobs of a firing are written in one transaction. */
export const JOBS_A_FIRING_MAX = 10_000
const VALUES_A_FIRING_MAX = 200_000
/** The maximum number of characters in a template's settings and arguments. Allows a long list of addresses. */
const TEMPLATE_TEXT_MAX = 3_000_000
const ITEMS_AT_ONCE = 50

type Named = Pick<ScheduleSettings, 'name' | 'jobs'>

/** For callers who cannot use priorities above 0. Lowers such priorities, even if another user set them. */
export function inTurn<Kind extends { settings: ScheduleSettings }>(schedule: Kind): Kind {
  const jobs = schedule.settings.jobs.map((job) => ({ ...job, priority: Math.min(job.priority, 0) }))
  return { ...schedule, settings: { ...schedule.settings, jobs } }
}

export function countJobs(templates: readonly RunTemplate[]): number {
  const countOf = ({ spiders, argSets, matrix }: RunTemplate) =>
    [spiders, ...Object.values(matrix)].reduce((product, values) => product * values.length, argSets.length || 1)
  return templates.reduce((sum, template) => sum + countOf(template), 0)
}

export function needsPrevious(templates: readonly RunTemplate[]): boolean {
  return templates.some((template) => JSON.stringify(template).includes('{previous'))
}

/** The size of a firing in bytes. Each job counts for at least an equal share of the limit. */
export function weightOf({ jobs, bytes }: { jobs: number; bytes: number }): number {
  return bytes + (jobs * MAX_ORDER_BYTES) / JOBS_A_FIRING_MAX
}

/** The total weight of firings held in memory. When it is exceeded, firings are written before more are prepared. */
export const WEIGHT_AT_ONCE = MAX_ORDER_BYTES

/**
 * Secret values are not expanded. Rejects with BAD_INPUT (too many jobs or placeholders) or REQUEST_TOO_LARGE, before
 * any job is created.
 */
export async function expandTemplates(
  named: Named,
  placeholders: TextValues,
  clock: Pick<Clock, 'monotonicMs'>
): Promise<{ items: RunItem[]; bytes: number }> {
  const yieldTurn = yielder(clock)
  const texts = new Texts(placeholders)
  const bytes = await measure(named, texts, yieldTurn)
  const items: RunItem[] = []
  for (const template of named.jobs) {
    for (const item of itemsOf(template, texts)) {
      items.push(item)
      if (items.length % ITEMS_AT_ONCE === 0) await yieldTurn()
    }
  }
  return { items, bytes }
}

/** Checks templates before they are saved. Rejects like expandTemplates. */
export async function checkTemplates(named: Named, zone: string, clock: Clock): Promise<void> {
  for (const { project, args, argSets, matrix, settings } of named.jobs) {
    const length = [settings, args, ...argSets, matrix].reduce((sum, values) => sum + lengthOf(values), 0)
    if (length <= TEMPLATE_TEXT_MAX) continue
    const limit = `the limit is ${TEMPLATE_TEXT_MAX / 1_000_000} million characters. Have the spider read them from a file`
    throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('api.template_too_long', { project, limit }))
  }
  const nowMs = clock.nowMs()
  const placeholders = { nominalMs: nowMs, previousMs: nowMs, nowMs, zone, schedule: named.name }
  await measure(named, new Texts(placeholders), yielder(clock))
}

function lengthOf(values: Record<string, string | string[]>): number {
  return Object.values(values)
    .flat()
    .reduce((sum, text) => sum + text.length, 0)
}

class Texts {
  readonly #placeholders: TextValues
  readonly #known = new Map<string, { text: string; bytes: number }>()
  #bytes = 0

  constructor(placeholders: TextValues) {
    this.#placeholders = placeholders
  }

  expand(text: string): string {
    return this.#of(text).text
  }

  bytesOf(text: string): number {
    return this.#of(text).bytes
  }

  #of(text: string): { text: string; bytes: number } {
    let known = this.#known.get(text)
    if (known === undefined) {
      const expanded = text.includes('{') ? expandText(text, this.#placeholders) : text
      known = { text: expanded, bytes: JSON.stringify(expanded).length }
      this.#bytes += known.bytes
      if (this.#bytes > MAX_ORDER_BYTES) throw tooLarge(this.#placeholders.schedule)
      this.#known.set(text, known)
    }
    return known
  }
}

async function measure({ name, jobs }: Named, texts: Texts, yieldTurn: () => Promise<void>): Promise<number> {
  const count = countJobs(jobs)
  if (count > JOBS_A_FIRING_MAX) {
    const limit = `the limit is ${JOBS_A_FIRING_MAX}. Split it into several schedules`
    throw new ScrapdeckError('BAD_INPUT', sentence('api.firing_has_too_many_jobs', { name, count, limit }))
  }
  let bytes = 0
  let values = 0
  for (const template of jobs) {
    const { settings, args, argSets, matrix, secretNames } = template
    const jobCount = countJobs([template])
    const setCount = argSets.length || 1
    const sizeOf = (field: string, text: string) =>
      JSON.stringify(field).length +
      2 +
      (secretNames.includes(field) ? JSON.stringify(text).length : texts.bytesOf(text))
    const add = (times: number, size: number) => {
      bytes += times * size
      values += times
    }
    for (const [field, text] of Object.entries(settings)) add(jobCount, sizeOf(field, text))
    for (const [field, choices] of Object.entries(matrix)) {
      for (const text of choices) add(jobCount / choices.length, sizeOf(field, text))
      await yieldTurn()
    }
    for (const [field, text] of Object.entries(args)) {
      if (!Object.hasOwn(matrix, field)) add(jobCount, sizeOf(field, text))
      await yieldTurn()
    }
    for (const argSet of argSets) {
      for (const [field, text] of Object.entries(argSet)) {
        if (Object.hasOwn(matrix, field)) continue
        add(jobCount / setCount, sizeOf(field, text))
        if (Object.hasOwn(args, field)) add(-jobCount / setCount, sizeOf(field, args[field]!))
      }
      await yieldTurn()
    }
  }
  if (bytes > MAX_ORDER_BYTES) throw tooLarge(name)
  if (values > VALUES_A_FIRING_MAX) {
    const limit = `the limit is ${VALUES_A_FIRING_MAX.toLocaleString('en-US')}. Split it into several schedules`
    throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('api.firing_too_large', { name, limit }))
  }
  return bytes
}

function tooLarge(name: string): ScrapdeckError {
  const limit = `${MAX_ORDER_BYTES / 1_000_000} MB`
  return new ScrapdeckError('REQUEST_TOO_LARGE', sentence('api.firing_above_limit', { name, limit }))
}

/** One item per spider, argument set and matrix combination, in this order. Later sources override earlier ones. */
function* itemsOf(template: RunTemplate, texts: Texts): Generator<RunItem> {
  const { project, version, spiders, secretNames, limits, priority, nodeId, tags, retry, userId } = template
  const expand = (field: string, text: string) => (secretNames.includes(field) ? text : texts.expand(text))
  const expandAll = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([field, text]) => [field, expand(field, text)]))
  const settings = expandAll(template.settings)
  const common = expandAll(template.args)
  const argSets = template.argSets.length === 0 ? [{}] : template.argSets.map(expandAll)
  const matrix = Object.entries(template.matrix).map(
    ([field, choices]) => [field, choices.map((text) => expand(field, text))] as const
  )
  const combinations = matrix.reduce((product, [, choices]) => product * choices.length, 1)
  // Values that the template does not set are omitted, so that the defaults of the project or spider apply.
  const placement = {
    ...(priority !== 0 && { priority }),
    ...((nodeId !== null || tags.length > 0) && { nodeId, tags })
  }
  for (const spider of spiders) {
    for (const argSet of argSets) {
      for (let index = 0; index < combinations; index += 1) {
        const args = { ...common, ...argSet, ...combinationAt(matrix, index) }
        const named = secretNames.filter((name) => Object.hasOwn(args, name) || Object.hasOwn(settings, name))
        const secret = named.length === 0 ? {} : { secretNames: named }
        const item = { project, version, spider, settings, args, ...secret, ...placement, limits, userId }
        // If absent, the project's default applies. null would mean "never".
        yield retry === null ? item : { ...item, retry }
      }
    }
  }
}

function combinationAt(matrix: readonly (readonly [string, string[]])[], index: number): Record<string, string> {
  let rest = index
  const picked = matrix.toReversed().map(([field, choices]) => {
    const text = choices[rest % choices.length]!
    rest = Math.floor(rest / choices.length)
    return [field, text] as const
  })
  return Object.fromEntries(picked.reverse())
}
