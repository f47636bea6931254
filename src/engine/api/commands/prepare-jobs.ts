import {
  type Job,
  type JobDefaults,
  type JobId,
  type NodeId,
  type RunItem,
  type RunTemplate,
  type ScheduleId,
  SECRET_MASK
} from '../../../shared/contract/index.ts'
import { actorName } from '../../access/acting.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { LOST_ARGUMENTS, RESERVED_ARGUMENTS, UNUSABLE_NAME } from '../../../shared/reserved-arguments.ts'
import {
  mergeDefaults,
  spiderDefaultsOf,
  takenDefaults,
  withDefaults,
  MAX_ORDER_BYTES
} from '../../../shared/job-defaults.ts'
import { suggestNear } from '../../../shared/near-matches.ts'
import { problemOfRunLimits } from '../../../shared/run-limits.ts'
import { secretValues, withSecrets } from '../../../shared/secret-values.ts'
import { asSentence, say } from '../../../shared/texts/message.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { Catalog } from '../../projects/catalog.ts'
import type { Projects } from '../../projects/projects.ts'
import { problemOfRun } from '../../nodes/node-checks.ts'
import { yielder } from '../../runtime/yielder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import { dedupeKeyOf } from '../../storage/dedupe-key.ts'
import type { NewJob } from '../../model/records.ts'
import { checkSecretNames, openTemplate } from './template-secrets.ts'
import { withStop } from '../../../shared/texts/parts.ts'

const ITEMS_AT_ONCE = 100

export interface Origin {
  source: Job['source']
  /** The jobid that a Scrapyd client chose. */
  jobid?: string | undefined
  /** The client's idempotency key. A repeated request returns the jobs of the first request. */
  onceKey?: string | undefined
  /** The caller has resolved the project, the version and the spider. */
  isSpiderKnown?: true | undefined
  scheduled?: { scheduleId: ScheduleId; nominalMs: number } | undefined
  evidence?: TimelineEntry['evidence']
}

export interface PrepareJobsParts {
  fleet: Pick<Fleet, 'get'>
  projects: Pick<Projects, 'settingsOf'> & { catalog: Pick<Catalog, 'resolve'> }
  secretBox: Pick<SecretBox, 'seal' | 'open'>
  clock: Clock
  newJobId: () => JobId
}

/**
 * Validates a whole request and builds its jobs. Writes nothing. Rejects with PROJECT_NOT_FOUND, VERSION_NOT_FOUND,
 * SPIDER_NOT_FOUND, NODE_NOT_FOUND, ARGUMENT_RESERVED, REQUEST_TOO_LARGE (arguments of all items together) or BAD_INPUT
 * (secrets, limits, times, dependencies).
 */
export async function prepareJobs(
  ordered: readonly RunItem[],
  origin: Origin,
  parts: PrepareJobsParts
): Promise<NewJob[]> {
  const yieldTurn = yielder(parts.clock)
  await checkSize(ordered, yieldTurn)
  const items = await startFromDefaults(ordered, parts, yieldTurn)
  if (items !== ordered) await checkSize(items, yieldTurn)
  const nowMs = parts.clock.nowMs()
  const resolved = new Set<string>()
  const secrets = new Set<string>()
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_AT_ONCE === 0) await yieldTurn()
    try {
      checkItem(item, ordered[index]!)
    } catch (error) {
      throw items.length > 1 && error instanceof ScrapdeckError ? named(error, index, items.length) : error
    }
  }
  const sealed = new Map<string, string>()
  for (const value of secrets) sealed.set(value, await parts.secretBox.seal(value))
  const { source } = origin
  const entry = {
    atMs: nowMs,
    message: say('timeline.queued', { source, by: BY_ITSELF.has(source) ? null : actorName() }),
    evidence: origin.evidence ?? {}
  }
  const jobs: NewJob[] = []
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_AT_ONCE === 0) await yieldTurn()
    jobs.push(newJob(item, index))
  }
  return jobs

  function checkItem(item: RunItem, { nodeId: named }: RunItem): void {
    const { project, version = null, spider, nodeId = null } = item
    checkNames(item.settings, 'settings')
    checkArguments(item.args, origin.source)
    checkNames(item.env, 'variables')
    refuseUnrunnable({ project, spider, ...(item.env && { env: item.env }) })
    if (nodeId !== null && nodeId !== named) checkDefaultNode(nodeId, project, parts.fleet)
    else if (nodeId !== null) checkNode(nodeId, parts.fleet)
    const problem = item.limits == null ? null : problemOfRunLimits(item.limits)
    if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
    checkTimes(item, nowMs)
    checkDependencies(item.after)
    if (item.secretNames !== undefined) for (const value of secretsOf(item)) secrets.add(value)
    const name = `${project}\n${version}\n${spider}`
    if (origin.isSpiderKnown || resolved.has(name)) return
    parts.projects.catalog.resolve(project, version, spider)
    resolved.add(name)
  }

  function newJob(item: RunItem, index: number): NewJob {
    const id = parts.newJobId()
    const ofProject = parts.projects.settingsOf(item.project)
    const { settings = {}, args = {}, env = {}, secretNames, dedupe, tags } = item
    const job: NewJob = {
      id,
      jobid: origin.jobid ?? id,
      project: item.project,
      version: item.version ?? null,
      spider: item.spider,
      settings,
      args,
      env,
      secretNames: secretNames === undefined ? [] : [...new Set(secretNames)],
      limits: item.limits ?? null,
      retry: item.retry === undefined ? ofProject.retry : item.retry,
      notBeforeMs: item.notBeforeMs ?? null,
      expiresAtMs: item.expiresAtMs ?? null,
      noOverlap: item.noOverlap ?? ofProject.noOverlap,
      after: item.after ?? [],
      dedupe: dedupe == null ? onceOf(origin, index, item, nowMs) : dedupeUntil(dedupe, origin, item, nowMs),
      priority: item.priority ?? 0,
      placement: { nodeId: item.nodeId ?? null, tags: tags === undefined ? [] : [...new Set(tags)].sort() },
      userId: item.userId ?? null,
      source: origin.source,
      scheduleId: origin.scheduled?.scheduleId ?? null,
      nominalMs: origin.scheduled?.nominalMs ?? null,
      entry:
        items === ordered
          ? entry
          : { ...entry, evidence: { ...entry.evidence, ...takenDefaults(ordered[index]!, item) } }
    }
    // From here on, the job contains encrypted secrets. Only the dispatcher decrypts them, when it sends the job.
    return withSecrets(job, (value) => sealed.get(value)!)
  }
}

/** Applies the project and spider defaults, with decrypted secrets, as if the client had sent them. */
async function startFromDefaults(
  items: readonly RunItem[],
  { projects, secretBox }: PrepareJobsParts,
  yieldTurn: () => Promise<void>
): Promise<readonly RunItem[]> {
  const known = new Map<string, JobDefaults | null>()
  const keyOf = ({ project, spider }: RunItem) => `${project}\n${spider}`
  const ofProjects = new Map<string, JobDefaults>()
  for (const item of items) {
    const key = keyOf(item)
    if (known.has(key)) continue
    const settings = projects.settingsOf(item.project)
    const ofProject = ofProjects.get(item.project) ?? (await openTemplate(settings.defaults, secretBox))
    ofProjects.set(item.project, ofProject)
    const ofSpider = spiderDefaultsOf(settings, item.spider)
    known.set(key, mergeDefaults(ofProject, ofSpider && (await openTemplate(ofSpider, secretBox))))
  }
  checkLeftOut(items, [...known.values()])
  if ([...known.values()].every((defaults) => defaults === null)) return items
  const completed: RunItem[] = []
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_AT_ONCE === 0) await yieldTurn()
    completed.push(withDefaults(item, known.get(keyOf(item)) ?? null))
  }
  return completed
}

function checkLeftOut(items: readonly RunItem[], all: readonly (JobDefaults | null)[]): void {
  if (items.every(({ withoutDefaults }) => withoutDefaults === undefined)) return
  const known = new Set(
    all.flatMap((one) => (one === null ? [] : [one.args, one.settings, one.env].flatMap(Object.keys)))
  )
  for (const name of new Set(items.flatMap(({ withoutDefaults = [] }) => withoutDefaults))) {
    if (name === '*' || known.has(name)) continue
    const have = known.size === 0 ? 'There are none' : `There are ${[...known].slice(0, 20).join(', ')}`
    const near = suggestNear(name, [...known])
    throw new ScrapdeckError('BAD_INPUT', sentence('api.no_such_default', { name, near, have }))
  }
}

async function checkSize(items: readonly RunItem[], yieldTurn: () => Promise<void>): Promise<void> {
  const known = new Map<object, number>()
  const sizeOf = (values: object | undefined) => {
    if (values === undefined) return 0
    if (!known.has(values)) known.set(values, JSON.stringify(values).length)
    return known.get(values)!
  }
  let bytes = 0
  for (const { settings, args, env, withoutDefaults } of items) {
    bytes += sizeOf(settings) + sizeOf(args) + sizeOf(env) + sizeOf(withoutDefaults)
    if (bytes > MAX_ORDER_BYTES) break
    await yieldTurn()
  }
  if (bytes <= MAX_ORDER_BYTES) return
  const limit = `${MAX_ORDER_BYTES / 1_000_000} MB`
  throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('api.order_too_large', { items: items.length, limit }))
}

/** Throws BAD_INPUT for a run that no kind of node can start. */
export function refuseUnrunnable(run: Parameters<typeof problemOfRun>[0]): void {
  const why = problemOfRun(run, null)
  if (why !== null) throw new ScrapdeckError('BAD_INPUT', sentence('api.no_node_can_start', { why: asSentence(why) }))
}

/** Throws PROJECT_NOT_FOUND, VERSION_NOT_FOUND or SPIDER_NOT_FOUND. */
export function requireSpiders(
  { project, version, spiders }: Pick<RunTemplate, 'project' | 'version' | 'spiders'>,
  catalog: Pick<Catalog, 'resolve'>
): void {
  for (const spider of spiders) catalog.resolve(project, version, spider)
}

/**
 * How long an idempotency key is valid. Must equal the time for which responses are remembered (remembered-answers.ts).
 */
const ONCE_MS = 24 * 3_600_000

function onceOf({ onceKey }: Origin, index: number, { project }: RunItem, nowMs: number): NewJob['dedupe'] {
  if (onceKey === undefined) return null
  return { key: dedupeKeyOf(project, 'own', `${onceKey}/${index}`), expiresAtMs: nowMs + ONCE_MS }
}

function dedupeUntil(
  { key: given, ttlSeconds, renew }: NonNullable<RunItem['dedupe']>,
  { source }: Origin,
  { project }: RunItem,
  nowMs: number
): NewJob['dedupe'] {
  const key = dedupeKeyOf(project, source === 'crawl' ? 'own' : 'client', given)
  const expiresAtMs = nowMs + Math.round(ttlSeconds * 1000)
  return renew === true ? { key, expiresAtMs, renew } : { key, expiresAtMs }
}

function named(error: ScrapdeckError, index: number, count: number): ScrapdeckError {
  const message = sentence('api.one_job_of_order', { index, count, error: withStop(error.message) })
  return new ScrapdeckError(error.code, message, { cause: error, data: { ...error.data, index } })
}

/** The maximum number of names. Values are limited only by the size of a request. */
const NAMES_MAX = 1_000
const LONGEST_NAME = 200

/**
 * Throws BAD_INPUT for too many names, for names that are too long, and for `__proto__`, which a JavaScript object
 * would lose.
 */
export function checkNames(values: object | undefined, what: 'settings' | 'arguments' | 'variables'): void {
  if (values === undefined) return
  const names = Object.keys(values)
  if (names.length > NAMES_MAX) {
    throw new ScrapdeckError(
      'BAD_INPUT',
      sentence('api.too_many_names', { namesMax: NAMES_MAX, what, names: names.length })
    )
  }
  for (const name of names) {
    if (name.length <= LONGEST_NAME && name !== UNUSABLE_NAME) continue
    const problem = name === UNUSABLE_NAME ? 'is not supported' : `is longer than ${LONGEST_NAME} characters`
    throw new ScrapdeckError(
      'BAD_INPUT',
      sentence('api.name_of_value_invalid', { name: shortened(name), what, problem })
    )
  }
}

const shortened = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name)

/**
 * Throws ARGUMENT_RESERVED, and like checkNames. Accepts from Scrapyd clients the names that Scrapyd silently drops.
 */
export function checkArguments(args: object | undefined, source?: Job['source']): void {
  checkNames(args, 'arguments')
  for (const name in args) {
    if (!RESERVED_ARGUMENTS.has(name) || (source === 'scrapyd' && LOST_ARGUMENTS.has(name))) continue
    throw new ScrapdeckError('ARGUMENT_RESERVED', sentence('api.argument_reserved', { name }), { data: { name } })
  }
}

export function checkNode(nodeId: NodeId, fleet: Pick<Fleet, 'get'>): void {
  if (fleet.get(nodeId) !== undefined) return
  throw new ScrapdeckError('NODE_NOT_FOUND', sentence('api.no_node_to_run_on', { nodeId }))
}

function checkDefaultNode(nodeId: NodeId, project: string, fleet: Pick<Fleet, 'get'>): void {
  if (fleet.get(nodeId) !== undefined) return
  throw new ScrapdeckError('NODE_NOT_FOUND', sentence('api.default_node_removed', { project, nodeId }))
}

function checkTimes({ notBeforeMs, expiresAtMs }: RunItem, nowMs: number): void {
  if (expiresAtMs == null) return
  if (expiresAtMs <= nowMs) {
    throw new ScrapdeckError('BAD_INPUT', sentence('api.expiry_in_past'))
  }
  if (notBeforeMs != null && expiresAtMs <= notBeforeMs) {
    throw new ScrapdeckError('BAD_INPUT', sentence('api.expiry_before_start'))
  }
}

/** The store checks that the jobs exist, in the transaction that adds the new ones. */
function checkDependencies(after: RunItem['after']): void {
  if (after === undefined || after.length < 2) return
  const ids = new Set(after.map(({ jobId }) => jobId))
  if (ids.size === after.length) return
  throw new ScrapdeckError('BAD_INPUT', sentence('api.after_lists_job_twice'))
}

function secretsOf(item: RunItem): string[] {
  const { settings = {}, args = {}, env = {}, secretNames = [] } = item
  checkSecretNames(secretNames, (name) => [settings, args, env].some((values) => Object.hasOwn(values, name)))
  const values = secretValues({ settings, args, env, secretNames })
  if (values.includes(SECRET_MASK)) {
    throw new ScrapdeckError('BAD_INPUT', sentence('api.secret_value_is_mask'))
  }
  return values
}

/** Timelines show no user for jobs from these sources, although their timers can inherit the user of a request. */
const BY_ITSELF = new Set<Job['source']>(['schedule', 'chain'])
