import type { AlertTarget, AlertTargetKind } from '../../../../shared/contract/index.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { SecretBox } from '../../../runtime/secret-box.ts'
import type { StoredDelivery, StoredWebhook } from '../../../model/records.ts'
import type { AddressGuard } from '../addresses.ts'
import type { SendResult } from '../plan-try.ts'
import type { Post } from '../post.ts'
import { checkTarget } from './check-target.ts'
import type { AlertCommand } from './command.ts'
import { NO_EVIDENCE, type ReadEvidence } from './evidence.ts'
import { asOfNow, type ReadEnds } from './late.ts'
import { exampleNews, type Message, newsIn, type Sender } from './message.ts'
import { newsOfReport, reportIn } from './report.ts'
import { isReportFor, newsFor } from './seen-news.ts'
import type { Links } from './words.ts'

export interface TestResult {
  ok: boolean
  answer: string
  conversation: string[]
}

export interface Channels {
  /** Throws BAD_INPUT or WEBHOOK_URL_FORBIDDEN for a target that can never work. */
  check(target: AlertTarget, hasSecret: boolean): void
  /** Never rejects, and enforces its own timeout. `delivery.body`: JSON with an AlertNews or a report as `data`. */
  send(channel: StoredWebhook, delivery: StoredDelivery): Promise<SendResult>
  test(channel: StoredWebhook): Promise<TestResult>
}

export interface AlertPlugins {
  alertNames(): string[]
  /** Never rejects, and enforces its own timeout. */
  sendAlert(name: string, message: { id: string; body: string }): Promise<SendResult>
}

export interface ChannelsParts {
  secretBox: SecretBox
  clock: Clock
  guard: AddressGuard
  post: Post
  links?: Links | undefined
  /** Reads what emails show besides the alerts. Default: nothing. */
  readEvidence?: ReadEvidence | undefined
  /** Reads which alerts of a delayed message have ended. Default: all of them are still firing. */
  readEnds?: ReadEnds | undefined
  commands?: readonly AlertCommand[] | undefined
  plugins?: AlertPlugins | undefined
  /** Tests only: the address of Telegram, and the certificate authorities of mail servers. */
  seams?: { telegramApi?: string; authorities?: string[] } | undefined
}

type Senders = { [Kind in AlertTargetKind]: () => Promise<Sender<Kind>> }

const NO_PLUGINS: AlertPlugins = {
  alertNames: () => [],
  sendAlert: async (name) => ({ isGood: false, answer: `there is no plugin ${name}` })
}

const CONVERSATION_MAX = 200
/** The result if the projects of the channel have changed since the message was recorded. */
const NOT_ALLOWED: SendResult = { isGood: true, answer: 'not sent: it is about projects that cannot use this channel' }

export function createChannels(parts: ChannelsParts): Channels {
  const {
    secretBox,
    clock,
    guard,
    post,
    links = { base: null },
    readEvidence = async () => NO_EVIDENCE,
    readEnds = async () => new Map(),
    commands = [],
    plugins = NO_PLUGINS,
    seams = {}
  } = parts
  const senders: Senders = {
    email: once(async () =>
      (await import('./email.ts')).emailSender({ guard, clock, links, readEvidence, authorities: seams.authorities })
    ),
    slack: once(async () => (await import('./slack.ts')).slackSender(post, links)),
    telegram: once(async () => {
      const { TELEGRAM_API, telegramSender } = await import('./telegram.ts')
      return telegramSender(post, links, seams.telegramApi ?? TELEGRAM_API)
    }),
    discord: once(async () => (await import('./discord.ts')).discordSender(post, links)),
    teams: once(async () => (await import('./teams.ts')).teamsSender(post, links)),
    pagerduty: once(async () => (await import('./pagerduty.ts')).pagerDutySender(post, links, clock)),
    webhook: once(async () => (await import('./webhook.ts')).webhookSender({ clock, secretBox, post })),
    command: once(async () => (await import('./command.ts')).commandSender(commands, clock)),
    plugin:
      async () =>
      ({ target, id, body }) =>
        plugins.sendAlert(target.plugin, { id, body }),
    // The app shows the alert from the change feed, so nothing is sent.
    desktop: async () => async () => ({ isGood: true, answer: 'shown in the app' })
  }

  async function deliver(
    channel: StoredWebhook,
    message: Pick<Message, 'id' | 'body' | 'madeAtMs' | 'say'>,
    tries = 0
  ) {
    try {
      const target = channel.channel!.target
      const secret = await openSecret(channel)
      const send = (await senders[target.kind]()) as Sender<AlertTargetKind>
      const report = reportIn(message.body)
      if (report !== null && !isReportFor(channel.channel!, report)) return NOT_ALLOWED
      if (report !== null)
        return await send({ ...message, target, channel, secret, news: newsOfReport(report), report })
      const recorded = newsIn(message.body)
      const allowed = newsFor(channel.channel!, recorded)
      if (allowed === null) return NOT_ALLOWED
      const news = tries === 0 ? allowed : asOfNow(allowed, await readEnds(allowed.firing.map(({ id }) => id)))
      const body =
        news === recorded ? message.body : JSON.stringify({ ...(JSON.parse(message.body) as object), data: news })
      return await send({ ...message, target, channel, secret, body, news, report })
    } catch (error) {
      // Other errors can contain a secret in their text. SealedElsewhere does not.
      const answer = error instanceof SealedElsewhere ? error.message : `sending failed (${(error as Error).name})`
      return { isGood: false, answer }
    }
  }

  /** Decrypts a channel's secret. Webhooks are excluded: they can have two secrets, which `sendToWebhook` decrypts. */
  async function openSecret({ sealedSecret, channel }: StoredWebhook): Promise<string> {
    if (sealedSecret === null || channel!.target.kind === 'webhook') return ''
    try {
      return await secretBox.open(sealedSecret)
    } catch {
      throw new SealedElsewhere('Its secret cannot be decrypted with the current key: enter it again')
    }
  }

  const inOrder = createQueues()

  return {
    check: (target, hasSecret) => checkTarget(target, hasSecret, { guard, commands, plugins: plugins.alertNames() }),
    send: (channel, { id, body, madeAtMs, tries }) =>
      inOrder(channel.id, () => deliver(channel, { id, body, madeAtMs, say: () => {} }, tries)),
    async test(channel) {
      const conversation: string[] = []
      const say = (line: string) => {
        if (conversation.length < CONVERSATION_MAX) conversation.push(line)
      }
      const nowMs = clock.nowMs()
      const body = JSON.stringify({ type: 'alert', timestamp: new Date(nowMs).toISOString(), data: exampleNews(nowMs) })
      const { isGood, answer } = await deliver(channel, {
        id: `test_${nowMs.toString(36)}`,
        body,
        madeAtMs: nowMs,
        say
      })
      return { ok: isGood, answer, conversation }
    }
  }
}

/** Each channel sends one message at a time, in order of arrival. A failed message is retried later (late.ts). */
function createQueues() {
  const last = new Map<string, Promise<SendResult>>()
  return (id: string, send: () => Promise<SendResult>): Promise<SendResult> => {
    const sending = (last.get(id) ?? Promise.resolve()).then(send)
    last.set(id, sending)
    return sending.finally(() => {
      if (last.get(id) === sending) last.delete(id)
    })
  }
}

class SealedElsewhere extends Error {}

function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | null = null
  return () => (loading ??= load())
}
