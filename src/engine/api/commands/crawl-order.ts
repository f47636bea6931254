import { createHash } from 'node:crypto'
import { isZone, momentOfWall } from '../../../shared/calendar/index.ts'
import {
  type CrawlChange,
  type CrawlInput,
  type CrawlOrder,
  DEFAULT_CRAWL_CACHE_SECONDS,
  type ProjectName,
  type RunTemplate,
  type Schedule,
  type ScheduleRule,
  type ScheduleSettings,
  type ScheduleTiming,
  type Transition
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { orderEntry, ownParts } from '../../../shared/job-defaults.ts'
import { statusOfJob } from '../../../shared/order-status.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import type { CrawlOrigin, StoredJob } from '../../model/records.ts'

export interface Order
  extends Pick<CrawlInput, 'spider' | 'start_urls' | 'depth' | 'params' | 'interval' | 'http_cache'> {
  project: ProjectName
  user_id: string | null
  zone: string
  atMs: number | null
}

export interface Work {
  args: Record<string, string>
  settings: Record<string, string>
}

/** Throws BAD_INPUT for an unknown time zone. */
export function timeOfOrder({ schedule_at, zone }: { schedule_at?: number | string | undefined; zone: string }) {
  if (!isZone(zone)) {
    throw new ScrapdeckError('BAD_INPUT', sentence('api.not_time_zone', { zone }))
  }
  return typeof schedule_at === 'string' ? momentOfWall(zone, Date.parse(`${schedule_at}Z`)) : (schedule_at ?? null)
}

/** Throws BAD_INPUT if the order contains its start URLs twice. */
export function workOf({ start_urls, depth, params = {} }: Order): Work {
  if (start_urls !== undefined && Object.hasOwn(params, 'start_urls')) {
    throw new ScrapdeckError('BAD_INPUT', sentence('api.start_urls_twice'))
  }
  const args = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, textOf(value)]))
  if (start_urls !== undefined) args['start_urls'] = JSON.stringify(start_urls)
  return { args, settings: depth === undefined ? {} : { DEPTH_LIMIT: String(depth) } }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}

/**
 * A bypass disables Scrapy's HTTP cache explicitly, because the project's settings may enable it. Scrapy reads an
 * expiry of 0 as "never".
 */
export function cacheSettings(
  http_cache: boolean | undefined,
  { isBypassed, seconds }: { isBypassed: boolean; seconds: number }
): Record<string, string> {
  if (isBypassed || http_cache === false) return { HTTPCACHE_ENABLED: 'False' }
  if (http_cache === undefined) return {}
  const expiry = seconds === 0 ? DEFAULT_CRAWL_CACHE_SECONDS : seconds
  return { HTTPCACHE_ENABLED: 'True', HTTPCACHE_EXPIRATION_SECS: String(expiry) }
}

/**
 * Returns the same key for identical orders by the same user. Ignores the cache time and the sequence of parameters,
 * fields and URLs. Changing the hashed values would make every stored order look new.
 */
export function keyOf(order: Order): string {
  const { user_id, project, spider, start_urls, params = {}, atMs, interval = null, zone, http_cache } = order
  const { settings } = workOf(order)
  const args = Object.entries(params).map(([name, value]) => [name, textOf(sorted(value))])
  if (start_urls !== undefined) args.push(['start_urls', JSON.stringify([...new Set(start_urls)].sort())])
  args.sort(([one], [other]) => (one! < other! ? -1 : 1))
  const more = [...(zone === 'UTC' ? [] : [zone]), ...(http_cache === undefined ? [] : [http_cache])]
  const what = [user_id, project, spider, args, settings, atMs, interval, ...more]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]))
}

export function originOf(order: Order): CrawlOrigin {
  return { key: keyOf(order).slice(-16), params: order.params ?? {}, atMs: order.atMs }
}

/** `firstMs` is when an interval starts if the order has no later start time. */
export function timingOf(
  { interval, zone, atMs }: Order,
  firstMs: number
): Pick<ScheduleTiming, 'zone' | 'rules' | 'startMs'> {
  if (typeof interval === 'string') return { zone, rules: [{ kind: 'cron', expression: interval }], startMs: atMs }
  const startMs = atMs !== null && atMs > firstMs ? atMs : firstMs
  return { zone, rules: [{ kind: 'interval', everySeconds: interval!, anchorMs: startMs }], startMs }
}

/**
 * If the order gets a new start time, the interval starts then. Otherwise, an existing interval keeps its anchor, and a
 * new interval first fires after one whole interval.
 */
function changedTiming(
  { rules: [rule], startMs }: ScheduleSettings,
  { before, after }: { before: Order; after: Order },
  nowMs: number
): Pick<ScheduleTiming, 'zone' | 'rules' | 'startMs'> {
  const { interval, zone, atMs } = after
  if (typeof interval !== 'number' || (atMs !== before.atMs && atMs !== null)) return timingOf(after, nowMs)
  const isInSteps = rule?.kind === 'interval'
  const anchorMs = isInSteps ? rule.anchorMs : Math.max(atMs ?? 0, nowMs + interval * 1_000)
  return {
    zone,
    rules: [{ kind: 'interval', everySeconds: interval, anchorMs }],
    startMs: isInSteps ? startMs : anchorMs
  }
}

/** Templates read braces as placeholders, but orders contain literal braces. */
export function templateArgs(args: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, value.replace(/\{/g, '{{')]))
}

const plainText = (text: string): string => text.replace(/\{\{/g, '{')

export function changedOrder(before: Order, change: Omit<CrawlChange, 'id' | 'paused'>): Order {
  const { schedule_at, ...fields } = change
  const cleared = Object.entries(fields).map(([name, value]) => [name, value ?? undefined])
  const after: Order = { ...before, ...Object.fromEntries(cleared) }
  return schedule_at === undefined ? after : { ...after, atMs: timeOfOrder({ schedule_at, zone: after.zone }) }
}

/** Keeps an operator's edits to the parts that the order does not change. */
export function changedSettings(
  schedule: ScheduleSettings,
  { before, after }: { before: Order; after: Order },
  { cacheSeconds, firstMs }: { cacheSeconds: number; firstMs: number }
): ScheduleSettings {
  const [template, ...others] = schedule.jobs
  const changed = { ...template! }
  const [old, work] = [workOf(before), workOf(after)]
  if (!isSame(old.args, work.args)) changed.args = templateArgs(work.args)
  if (!isSame(old.settings, work.settings)) {
    const { DEPTH_LIMIT: _depth, ...rest } = changed.settings
    changed.settings = { ...rest, ...work.settings }
  }
  if (before.http_cache !== after.http_cache) {
    const { HTTPCACHE_ENABLED: _isOn, HTTPCACHE_EXPIRATION_SECS: _expiry, ...rest } = changed.settings
    changed.settings = { ...rest, ...cacheSettings(after.http_cache, { isBypassed: false, seconds: cacheSeconds }) }
  }
  const timesOf = ({ interval, zone, atMs }: Order) => [interval, zone, atMs]
  const timing = isSame(timesOf(before), timesOf(after)) ? {} : changedTiming(schedule, { before, after }, firstMs)
  return { ...schedule, ...timing, jobs: [changed, ...others] }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

export function orderOf(
  schedule: Pick<ScheduleSettings, 'zone' | 'rules'> & {
    jobs: Pick<RunTemplate, 'project' | 'spiders' | 'settings' | 'args' | 'userId'>[]
  },
  origin: CrawlOrigin
): Order {
  const [template] = schedule.jobs
  const { project, spiders, settings, userId } = template!
  const { start_urls, ...args } = Object.fromEntries(
    Object.entries(template!.args).map(([name, value]) => [name, plainText(value)])
  )
  const urls = addressesOf(start_urls)
  if (start_urls !== undefined && urls === null) args['start_urls'] = start_urls
  // Arguments are text. A parameter that was given as another type keeps that type unless its text has changed.
  const params = Object.fromEntries(
    Object.entries(args).map(([name, text]) => {
      const ordered = Object.hasOwn(origin.params, name) ? origin.params[name] : text
      return [name, textOf(ordered) === text ? ordered : text]
    })
  ) as NonNullable<Order['params']>
  const { DEPTH_LIMIT, HTTPCACHE_ENABLED } = settings
  return {
    project,
    spider: spiders[0]!,
    user_id: userId ?? null,
    zone: schedule.zone,
    atMs: origin.atMs,
    ...(urls !== null && { start_urls: urls }),
    ...(/^\d{1,4}$/.test(DEPTH_LIMIT ?? '') && { depth: Number(DEPTH_LIMIT) }),
    ...(HTTPCACHE_ENABLED !== undefined && { http_cache: /^(true|1)$/i.test(HTTPCACHE_ENABLED) }),
    interval: intervalOf(schedule.rules[0]),
    params
  }
}

function addressesOf(text: string | undefined): string[] | null {
  const urls = parsed(text)
  return Array.isArray(urls) && urls.every((url) => typeof url === 'string') ? urls : null
}

/** Returns undefined for text that is not JSON: an operator edited it, or it is a masked secret. */
function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

function intervalOf(rule: ScheduleRule | undefined): number | string | undefined {
  if (rule?.kind === 'interval') return rule.everySeconds
  return rule?.kind === 'cron' ? rule.expression : undefined
}

function fieldsOf({ atMs: _atMs, ...order }: Order) {
  const { start_urls = [], depth = null, http_cache = null, interval = null, params = {}, ...same } = order
  return { ...same, start_urls, depth, params, interval, http_cache }
}

export function describeOrder(schedule: Schedule, origin: CrawlOrigin): CrawlOrder {
  const { id, paused, nextAtMs, createdAtMs, changedAtMs, recent } = schedule
  const isRunning = recent[0]?.outcome === 'live'
  return {
    job_id: null,
    schedule_id: id,
    reason: null,
    ...fieldsOf(orderOf(schedule, origin)),
    status: isRunning ? 'running' : paused ? 'paused' : nextAtMs === null ? 'finished' : 'pending',
    scheduled_at: iso(schedule.startMs ?? createdAtMs),
    next_run: nextAtMs === null ? null : iso(nextAtMs),
    created_at: iso(createdAtMs),
    updated_at: iso(changedAtMs)
  }
}

export const jsonParamsOf = ({ params = {} }: Order): string[] =>
  Object.keys(params).filter((name) => typeof params[name] !== 'string')

/** Returns the order that would create this job. It has no time zone, because the job stores only its start time. */
export function orderOfJob(job: StoredJob, timeline: readonly Transition[]): Order {
  const { args = {}, settings = {} } = ownParts({ job: maskSecrets(job), timeline })
  const names = (orderEntry(timeline)?.evidence['jsonParams'] ?? []) as string[]
  const params = Object.fromEntries(names.map((name) => [name, parsed(args[name])]))
  const { project, spider, userId, notBeforeMs } = job
  const template = { project, spiders: [spider], userId, settings, args: templateArgs(args) }
  return orderOf({ jobs: [template], zone: 'UTC', rules: [] }, { key: '', params, atMs: notBeforeMs })
}

export function describeJobOrder(job: StoredJob, timeline: readonly Transition[]): CrawlOrder {
  const { id, notBeforeMs, queuedAtMs, hold } = job
  return {
    job_id: id,
    schedule_id: null,
    ...fieldsOf(orderOfJob(job, timeline)),
    ...statusOfJob(job),
    scheduled_at: iso(notBeforeMs ?? queuedAtMs),
    next_run: hold === 'not_before' ? iso(notBeforeMs!) : null,
    created_at: iso(queuedAtMs),
    updated_at: iso(timeline.at(-1)?.atMs ?? queuedAtMs)
  }
}

export const iso = (atMs: number): string => new Date(atMs).toISOString()
