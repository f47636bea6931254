import { z } from 'zod'
import { SECRET_MASK, type WebhookId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/notify.ts'
import { asParam, asSentence, mapStrings, type Message, plain, render, say } from '../../../shared/texts/message.ts'
import { saidOf } from '../../runtime/said-error.ts'
import { LOST_ARGUMENTS, RESERVED_ARGUMENTS } from '../../../shared/reserved-arguments.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { NewWebhook, StoredDelivery, StoredWebhook } from '../../model/records.ts'
import type { WebhookStore } from '../../storage/store.ts'
import type { SendResult } from '../deliveries/plan-try.ts'
import { createNodeChooser, type NodeChoices, Words } from './node-chooser.ts'
import {
  ALERT_HOOK,
  type DispatchQuestion,
  EVENT_HOOKS,
  type NodeQuestion,
  type Plugin,
  type PluginJob,
  SPIDER_HOOKS
} from './plugin.ts'
import { createPluginBlobs } from './plugin-blobs.ts'
import { PluginError, type PluginSettings, PluginThread } from './plugin-thread.ts'

export type DispatchVerdict =
  /** Patches to the job's arguments and settings. `notes`: for the job's timeline. */
  | { kind: 'send'; args: Patch; settings: Patch; notes: Record<string, unknown> }
  | { kind: 'wait'; plugin: string; words: Message | string; seconds: number }
  | { kind: 'cancel'; plugin: string; words: string }

export type Patch = Record<string, string | null>

/** The name is displayed, so it must not contain control characters. */
const Person = z.strictObject({
  name: z.string().regex(/^\P{C}{1,200}$/u),
  groups: z.array(z.string().max(1_000)).max(2_000).default([])
})
type PluginPerson = z.output<typeof Person> & { subject: string }
type Credentials = Parameters<NonNullable<Plugin['authenticate']>>[0]

/** The hooks that at most one plugin can have. */
const ONLY_ONCE = ['blobs', 'chooseNode', 'authenticate'] satisfies (keyof Plugin)[]
const WAIT_DEFAULT_SECONDS = 60
const WAIT_MAX_SECONDS = 86_400

const PatchSchema = z.record(z.string().min(1).max(200), z.string().max(100_000).nullable())
const DispatchAnswerSchema = z.union([
  z
    .object({ veto: Words, retryAfterSeconds: z.number().min(1).max(WAIT_MAX_SECONDS).default(WAIT_DEFAULT_SECONDS) })
    .strict(),
  z.object({ cancel: Words }).strict(),
  z.object({ args: PatchSchema.default({}), settings: PatchSchema.default({}) }).strict()
])

export class Plugins {
  /** null: no plugin stores blobs. */
  readonly blobs: BlobStore | null
  /** null: no plugin implements the hook. Never rejects. */
  readonly beforeDispatch: ((question: DispatchQuestion) => Promise<DispatchVerdict>) | null
  /** null: no plugin implements the hook. Never rejects. */
  readonly chooseNodes: ((questions: NodeQuestion[]) => Promise<NodeChoices>) | null
  /** null: no plugin implements the hook. Resolves with null for a wrong password. Rejects with SIGN_IN_UNAVAILABLE. */
  readonly authenticate: ((given: Credentials) => Promise<PluginPerson | null>) | null
  readonly #threads: readonly PluginThread[]
  readonly #clock: Clock

  private constructor(threads: PluginThread[], { clock, logger }: { clock: Clock; logger: Logger }) {
    const [keeper, chooser, authority] = ONLY_ONCE.map((hook) => threads.find((thread) => thread.has(hook)))
    const asked = threads.filter((thread) => thread.has('beforeDispatch'))
    this.blobs = keeper === undefined ? null : createPluginBlobs(keeper)
    this.beforeDispatch = asked.length === 0 ? null : (question) => askAll(asked, question, logger)
    this.chooseNodes = chooser === undefined ? null : createNodeChooser(chooser, { clock, logger })
    this.authenticate = authority === undefined ? null : (given) => authenticate(authority, given, logger)
    this.#threads = threads
    this.#clock = clock
  }

  /** Starts all plugins. If one cannot be loaded, stops all and rejects with PLUGIN_UNUSABLE and an explanation. */
  static async open(settings: readonly PluginSettings[], parts: { clock: Clock; logger: Logger }): Promise<Plugins> {
    const threads = settings.map((one) => new PluginThread(one, parts))
    try {
      for (const thread of threads) await thread.start()
      for (const hook of ONLY_ONCE) {
        const names = threads.filter((thread) => thread.has(hook)).map((thread) => thread.settings.name)
        if (names.length < 2) continue
        throw new PluginError(say('plugin.same_hook', { plugins: names, hook }))
      }
      return new Plugins(threads, parts)
    } catch (error) {
      await Promise.all(threads.map((thread) => thread.stop()))
      if (!(error instanceof PluginError)) throw error
      const text = asSentence(say('plugin.unusable', { why: error.said }))
      throw new ScrapdeckError('PLUGIN_UNUSABLE', text, { cause: error })
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()))
  }

  /** Calls the hooks for an event of the outbox. Never rejects. */
  async send({ id }: StoredWebhook, delivery: StoredDelivery): Promise<{ isGood: boolean; answer: string }> {
    const thread = this.#threads.find(({ settings }) => idOf(settings) === id)
    const hooks = thread === undefined ? [] : hooksOf(thread, delivery.event)
    if (thread === undefined || hooks.length === 0) return { isGood: false, answer: 'It is no longer configured' }
    for (const hook of hooks) {
      const result = await callHook(thread, hook, delivery)
      if (!result.isGood) return result
    }
    return { isGood: true, answer: 'delivered' }
  }

  alertNames(): string[] {
    return this.#threads.filter((thread) => thread.has(ALERT_HOOK)).map(({ settings }) => settings.name)
  }

  async sendAlert(name: string, message: Pick<StoredDelivery, 'id' | 'body'>): Promise<SendResult> {
    const thread = this.#threads.find(({ settings }) => settings.name === name)
    if (thread?.has(ALERT_HOOK) !== true)
      return { isGood: false, answer: `the configuration has no plugin ${name} with the hook ${ALERT_HOOK} any more` }
    return callHook(thread, ALERT_HOOK, message)
  }

  /** Subscribes the plugins' hooks to outbox events, and removes the subscriptions of plugins that no longer exist. */
  async subscribe(store: WebhookStore): Promise<void> {
    const wanted = new Map<string, NewWebhook>()
    for (const thread of this.#threads) {
      const id = idOf(thread.settings)
      const events = Object.keys(EVENT_HOOKS).filter((event) => hooksOf(thread, event).length > 0)
      if (events.length === 0) continue
      wanted.set(id, {
        id,
        kind: 'plugin',
        name: thread.settings.name,
        url: '',
        events,
        project: null,
        enabled: true,
        createdAtMs: this.#clock.nowMs(),
        sealedSecret: null,
        sealedOldSecret: null,
        oldSecretUntilMs: null
      })
    }
    for (const { id, kind } of await store.listWebhooks()) {
      if (kind === 'plugin' && !wanted.has(id)) await store.deleteWebhook(id)
    }
    for (const webhook of wanted.values()) await store.putWebhook(webhook)
  }
}

async function authenticate(thread: PluginThread, given: Credentials, logger: Logger): Promise<PluginPerson | null> {
  const { name: plugin } = thread.settings
  const { username, password } = given
  try {
    const person = Person.nullish().parse(await thread.call('authenticate', [{ username, password }]))
    return person == null ? null : { ...person, subject: `plugin ${plugin} ${person.name}` }
  } catch {
    // Logs neither the error message nor the result, because they can contain the password.
    logger.warn({ plugin }, 'a plugin could not check a password: it failed, or its answer is not { name, groups }')
    const text = sentence('notify.plugin_password_unchecked', { plugin })
    throw new ScrapdeckError('SIGN_IN_UNAVAILABLE', text)
  }
}

function hooksOf(thread: PluginThread, event: string): string[] {
  const hooks = [EVENT_HOOKS, SPIDER_HOOKS].map((all) => (all as Record<string, string>)[event])
  return hooks.filter((hook) => hook !== undefined && thread.has(hook)) as string[]
}

/** null: the hook is not called for this event. A job that never started its spider has no `on_spider_complete`. */
function argumentsOf(hook: string, { id, body }: Pick<StoredDelivery, 'id' | 'body'>): unknown[] | null {
  const event = { id, ...JSON.parse(body) }
  if (!(Object.values(SPIDER_HOOKS) as string[]).includes(hook)) return [event]
  const { project, spider, jobid, startedAtMs, status }: PluginJob = event.data.job
  if (hook === SPIDER_HOOKS['job.started']) return [project, spider, jobid]
  return startedAtMs === null ? null : [project, spider, jobid, status === 'succeeded']
}

async function callHook(
  thread: PluginThread,
  hook: string,
  delivery: Pick<StoredDelivery, 'id' | 'body'>
): Promise<SendResult> {
  try {
    const given = argumentsOf(hook, delivery)
    if (given === null) return { isGood: true, answer: 'not needed' }
    // Waits until the thread can start, because a failed call would use up one of the delivery's attempts.
    await thread.untilStartable()
    await thread.call(hook, given)
    return { isGood: true, answer: 'delivered' }
  } catch (error) {
    return { isGood: false, answer: render(saidBy(error)) }
  }
}

/** Calls the plugins in the order of the configuration. Each receives the job as patched by those before it. */
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
      // Names only, because the values can be secret.
      notes[`changed by ${plugin}`] = [...Object.keys(answer.args), ...Object.keys(answer.settings)]
    } catch (error) {
      const said = saidBy(error)
      const words = asParam(said)
      logger.warn({ plugin, jobId: job.id, problem: render(said) }, 'a plugin could not say whether a job may be sent')
      if (onFailure === 'hold') return { kind: 'wait', plugin, words, seconds: WAIT_DEFAULT_SECONDS }
      notes[`not asked of ${plugin}`] = words
    }
  }
  return { kind: 'send', args, settings, notes }
}

const NONE: ReadonlySet<string> = new Set()
const ARGUMENTS_KEPT: ReadonlySet<string> = new Set([...RESERVED_ARGUMENTS, ...LOST_ARGUMENTS])

/** Plugins see masks instead of secret values. A returned mask leaves the value unchanged. */
function withoutMasks(patch: Patch, kept: ReadonlySet<string>): Patch {
  return Object.fromEntries(Object.entries(patch).filter(([name, value]) => value !== SECRET_MASK && !kept.has(name)))
}

export function patched(values: Record<string, string>, patch: Patch): Record<string, string> {
  const all = { ...values, ...patch }
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))
}

function idOf({ name }: PluginSettings): WebhookId {
  return `plugin:${name}` as WebhookId
}

/** Makes the plugin's texts fit to be shown. */
function saidBy(error: unknown): Message {
  if (error instanceof z.ZodError) return say('plugin.not_an_answer', { most: WAIT_MAX_SECONDS })
  const said = saidOf(error)
  return mapStrings(typeof said === 'string' ? plain(said) : said, (text) => Words.parse(text))
}
