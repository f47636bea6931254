import { z } from 'zod'
import { SECRET_MASK } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { LOST_ARGUMENTS, RESERVED_ARGUMENTS } from '../../shared/reserved-arguments.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { NewWebhook, StoredDelivery, StoredWebhook } from '../store/records.ts'
import type { WebhookStore } from '../store/store.ts'
import { type DispatchQuestion, EVENT_HOOKS } from './plugin.ts'
import { createPluginBlobs } from './plugin-blobs.ts'
import { PluginError, type PluginSettings, PluginThread } from './plugin-thread.ts'

/** What plugins say of a job that is about to be sent. */
export type DispatchVerdict =
  /** As patches that are laid over each other. `notes`: for the job's timeline. */
  | { kind: 'send'; args: Patch; settings: Patch; notes: Record<string, unknown> }
  | { kind: 'wait'; plugin: string; words: string; seconds: number }
  | { kind: 'cancel'; plugin: string; words: string }

export type Patch = Record<string, string | null>

export interface Plugins {
  /** Of the plugin that has some. */
  readonly blobs: BlobStore | null
  readonly wantsAlerts: boolean
  /** null: no plugin wants to be asked. Never rejects. */
  readonly beforeDispatch: ((question: DispatchQuestion) => Promise<DispatchVerdict>) | null
  /** Has the outbox keep events for hooks, and for those of no other plugin any more. */
  subscribe(store: WebhookStore): Promise<void>
  /** Calls the hook for an event of the outbox. Never rejects. */
  send(webhook: StoredWebhook, delivery: StoredDelivery): Promise<{ isGood: boolean; answer: string }>
  stop(): Promise<void>
}

const WAIT_DEFAULT_SECONDS = 60
const WAIT_MAX_SECONDS = 86_400
const WORDS_MAX = 500

const PatchSchema = z.record(z.string().min(1).max(200), z.string().max(100_000).nullable())
const Words = z.string().transform((words) => words.slice(0, WORDS_MAX))
const DispatchAnswerSchema = z.union([
  z
    .object({ veto: Words, retryAfterSeconds: z.number().min(1).max(WAIT_MAX_SECONDS).default(WAIT_DEFAULT_SECONDS) })
    .strict(),
  z.object({ cancel: Words }).strict(),
  z.object({ args: PatchSchema.default({}), settings: PatchSchema.default({}) }).strict()
])
const ANSWERS = `nothing, { args, settings } whose values are texts or null, { veto: 'why', retryAfterSeconds: 1 to ${WAIT_MAX_SECONDS} } or { cancel: 'why' }`

export const NO_PLUGINS: Plugins = {
  blobs: null,
  wantsAlerts: false,
  beforeDispatch: null,
  subscribe: (store) => subscribe([], store, 0),
  send: () => Promise.resolve({ isGood: false, answer: 'It is not configured any more' }),
  stop: () => Promise.resolve()
}

/** Starts them all. Rejects with PLUGIN_UNUSABLE, in words, where one cannot be loaded; nothing runs then. */
export async function openPlugins(
  settings: readonly PluginSettings[],
  parts: { clock: Clock; logger: Logger }
): Promise<Plugins> {
  if (settings.length === 0) return NO_PLUGINS
  const threads = settings.map((one) => new PluginThread(one, parts))
  const stop = async () => void (await Promise.all(threads.map((thread) => thread.stop())))
  try {
    for (const thread of threads) await thread.start()
    const keepers = threads.filter((thread) => thread.has('blobs'))
    if (keepers.length > 1) {
      const names = keepers.map((thread) => thread.settings.name).join(' and ')
      throw new PluginError(`${names} both keep blobs: only one plugin can. Take one of them out of the configuration`)
    }
    const asked = threads.filter((thread) => thread.has('beforeDispatch'))
    return {
      blobs: keepers[0] === undefined ? null : createPluginBlobs(keepers[0]),
      wantsAlerts: threads.some((thread) => thread.has('problemRaised') || thread.has('problemResolved')),
      beforeDispatch: asked.length === 0 ? null : (question) => askAll(asked, question, parts.logger),
      subscribe: (store) => subscribe(threads, store, parts.clock.nowMs()),
      send: (webhook, delivery) => sendToHook(threads, webhook, delivery),
      stop
    }
  } catch (error) {
    await stop()
    if (!(error instanceof PluginError)) throw error
    throw new ScrapdeckError('PLUGIN_UNUSABLE', `${error.message}.`, { cause: error })
  }
}

/** One after another, in the order of the configuration; each sees what those before it made of the job. */
async function askAll(
  threads: PluginThread[],
  { job, ...question }: DispatchQuestion,
  logger: Logger
): Promise<DispatchVerdict> {
  const args: Patch = {}
  const settings: Patch = {}
  const notes: Record<string, unknown> = {}
  for (const thread of threads) {
    const { name: plugin, onFailure } = thread.settings
    try {
      const seen = { ...job, args: patched(job.args, args), settings: patched(job.settings, settings) }
      const given = await thread.call('beforeDispatch', [{ ...question, job: seen }])
      if (given === undefined || given === null) continue
      const answer = DispatchAnswerSchema.parse(given)
      if ('veto' in answer) return { kind: 'wait', plugin, words: answer.veto, seconds: answer.retryAfterSeconds }
      if ('cancel' in answer) return { kind: 'cancel', plugin, words: answer.cancel }
      Object.assign(args, withoutMasks(answer.args, ARGUMENTS_KEPT))
      Object.assign(settings, withoutMasks(answer.settings, NONE))
      // Names only: values may be what nobody else is to see.
      notes[`changed by ${plugin}`] = [...Object.keys(answer.args), ...Object.keys(answer.settings)]
    } catch (error) {
      const words = wordsOf(error)
      logger.warn({ plugin, jobId: job.id, problem: words }, 'a plugin could not say whether a job may be sent')
      if (onFailure === 'hold') return { kind: 'wait', plugin, words, seconds: WAIT_DEFAULT_SECONDS }
      notes[`not asked of ${plugin}`] = words
    }
  }
  return { kind: 'send', args, settings, notes }
}

const NONE: ReadonlySet<string> = new Set()
const ARGUMENTS_KEPT: ReadonlySet<string> = new Set([...RESERVED_ARGUMENTS, ...LOST_ARGUMENTS])

/** A plugin sees masks in the place of secret values; what it gives back of those stays as it is. */
function withoutMasks(patch: Patch, kept: ReadonlySet<string>): Patch {
  return Object.fromEntries(Object.entries(patch).filter(([name, value]) => value !== SECRET_MASK && !kept.has(name)))
}

/** The values with the patch laid over them. */
export function patched(values: Record<string, string>, patch: Patch): Record<string, string> {
  const all = { ...values, ...patch }
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))
}

async function sendToHook(threads: PluginThread[], { id }: StoredWebhook, delivery: StoredDelivery) {
  const thread = threads.find(({ settings }) => idOf(settings) === id)
  const hook = (EVENT_HOOKS as Record<string, string>)[delivery.event]
  if (thread === undefined || hook === undefined) return { isGood: false, answer: 'It is not configured any more' }
  try {
    // Events can wait; each try that nobody could take would be one less.
    await thread.untilStartable()
    await thread.call(hook, [{ id: delivery.id, ...JSON.parse(delivery.body) }])
    return { isGood: true, answer: 'told' }
  } catch (error) {
    return { isGood: false, answer: wordsOf(error) }
  }
}

async function subscribe(threads: PluginThread[], store: WebhookStore, nowMs: number): Promise<void> {
  const wanted = new Map<string, NewWebhook>()
  for (const thread of threads) {
    const id = idOf(thread.settings)
    const events = Object.entries(EVENT_HOOKS).flatMap(([event, hook]) => (thread.has(hook) ? [event] : []))
    if (events.length === 0) continue
    wanted.set(id, {
      ...{ id, kind: 'plugin', name: thread.settings.name, url: '', events, project: null, enabled: true },
      ...{ createdAtMs: nowMs, sealedSecret: null, sealedOldSecret: null, oldSecretUntilMs: null }
    })
  }
  for (const { id, kind } of await store.listWebhooks()) {
    if (kind === 'plugin' && !wanted.has(id)) await store.deleteWebhook(id)
  }
  for (const webhook of wanted.values()) await store.putWebhook(webhook)
}

function idOf({ name }: PluginSettings): string {
  return `plugin:${name}`
}

function wordsOf(error: unknown): string {
  if (error instanceof z.ZodError) return `what it answered is none of the answers: ${ANSWERS}`
  return (error instanceof Error ? error.message : String(error)).slice(0, WORDS_MAX)
}
