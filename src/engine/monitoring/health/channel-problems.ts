import type { AlertRule, Problem, WebhookId } from '../../../shared/contract/index.ts'
import { say } from '../../../shared/texts/message.ts'
import type { StoredWebhook } from '../../model/records.ts'
import type { DeliveryStore, WebhookReader } from '../../storage/store.ts'
import { problem } from './problem.ts'

export interface ChannelTrouble {
  id: WebhookId
  name: string
  answer: string
  sinceMs: number
  /** `failing`: messages are waiting. `given_up`: some messages are lost. `gone`: the receiver unsubscribed. */
  state: 'failing' | 'given_up' | 'gone'
  isReportedElsewhere: boolean
}

/** A channel that fails for a shorter time is not a problem, because receivers restart. */
const FAILING_AFTER_MS = 600_000
const WAITING_READ = 100

/**
 * Skips channels that received their last message. `mayFollow`: whether another channel can become a problem just
 * because time passes.
 */
export async function readChannelTroubles(
  store: WebhookReader & Pick<DeliveryStore, 'listDeliveries'>,
  { rules, plugins, nowMs }: { rules: readonly AlertRule[]; plugins: readonly string[]; nowMs: number }
): Promise<{ troubles: ChannelTrouble[]; pluginsWithoutChannel: string[]; mayFollow: boolean }> {
  const channels = (await store.listWebhooks()).filter(({ kind }) => kind === 'channel')
  const working = new Set(channels.filter(({ enabled, problem }) => enabled && problem === null).map(({ id }) => id))
  const recipients = rules.filter(({ enabled, watch }) => enabled && watch === 'service_problem').flatMap(channelsOf)
  const isReportedElsewhere = recipients.some((id) => working.has(id))
  const failing = channels.filter(({ problem }) => problem !== null)
  const found = await Promise.all(
    failing.map(async (channel): Promise<ChannelTrouble | null> => {
      const { id, name, problem } = channel
      const [waiting, [dead]] = await Promise.all([
        store.listDeliveries(id, { state: 'waiting', before: null, limit: WAITING_READ }),
        store.listDeliveries(id, { state: 'dead', before: null, limit: 1 })
      ])
      const trouble = stateOf(channel, waiting.at(-1)?.madeAtMs ?? null, dead ?? null, nowMs)
      return trouble === null ? null : { id, name, answer: problem!, ...trouble, isReportedElsewhere }
    })
  )
  const troubles = found.filter((one) => one !== null)
  return {
    troubles,
    pluginsWithoutChannel: pluginsWithoutChannel(plugins, channels),
    mayFollow: failing.length > troubles.length
  }
}

export const pluginsWithoutChannel = (
  plugins: readonly string[],
  channels: readonly Pick<StoredWebhook, 'enabled' | 'channel'>[]
): string[] =>
  plugins.filter(
    (name) =>
      !channels.some(({ enabled, channel }) => {
        const target = channel?.target
        return enabled && target?.kind === 'plugin' && target.plugin === name
      })
  )

const channelsOf = ({ channels, escalation }: AlertRule) => [...channels, ...(escalation?.channels ?? [])]

/** `oldestMs`: the time of the oldest waiting message. `dead`: the newest message that was given up on. */
export function stateOf(
  { enabled, problem, lastDeliveredAtMs }: Pick<StoredWebhook, 'enabled' | 'problem' | 'lastDeliveredAtMs'>,
  oldestMs: number | null,
  dead: { madeAtMs: number; endedAtMs: number | null } | null,
  nowMs: number
): Pick<ChannelTrouble, 'state' | 'sinceMs'> | null {
  // A channel that a user disabled is not a problem. A receiver that responds with 410 also disables its channel.
  const isGone = !enabled && problem?.startsWith('410') === true
  if (problem === null || (!enabled && !isGone)) return null
  if (isGone) return { state: 'gone', sinceMs: dead?.endedAtMs ?? nowMs }
  if (dead?.endedAtMs != null && dead.endedAtMs > (lastDeliveredAtMs ?? 0))
    return { state: 'given_up', sinceMs: dead.madeAtMs }
  if (oldestMs === null || nowMs - oldestMs < FAILING_AFTER_MS) return null
  return { state: 'failing', sinceMs: oldestMs }
}

/** Returns a problem for each failing channel, because users rely on alerts and must know when none arrive. */
export function channelProblems(troubles: readonly ChannelTrouble[]): Problem[] {
  return troubles.map(({ id, name, answer, sinceMs, state, isReportedElsewhere }) =>
    problem({
      id: `channel:${id}`,
      severity: 'error',
      title: say('problem_title.channel_fails', { channel: name, state }),
      text: say('problem.channel_fails', { answer, state, isReportedElsewhere }),
      sinceMs
    })
  )
}

/** A plugin with an alert hook receives alerts only through a channel. Its user may not know that. */
export const pluginWithoutChannelProblems = (names: readonly string[]): Problem[] =>
  names.map((plugin) =>
    problem({
      id: `alert-plugin:${plugin}`,
      severity: 'warning',
      title: say('problem_title.plugin_without_channel', { plugin }),
      text: say('problem.plugin_without_channel')
    })
  )
