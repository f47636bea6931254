import { z } from 'zod'
import {
  type AlertChannel,
  AlertChannelSettings,
  type AlertDigest,
  type AlertTarget,
  type AlertTargetKind,
  type QuietHours
} from '../../../shared/contract/index.ts'
import { formBy } from '../../ui/fields/texts.ts'
import { CHANNEL_KINDS, WEEK } from './alert-words.ts'
import { texts as words } from '../../../shared/texts/ui/alerts.ts'

export interface ChannelTexts {
  name: string
  enabled: boolean
  kind: AlertTargetKind
  to: string[]
  from: string
  host: string
  port: string | number
  security: Extract<AlertTarget, { kind: 'email' }>['security']
  username: string
  chatId: string
  url: string
  command: string
  plugin: string
  /** Empty: no secret, or the stored one. */
  secret: string
  hasQuiet: boolean
  quietZone: string
  quietFrom: string
  quietUntil: string
  quietDays: number[]
  /** Empty: no limit. */
  messagesPerHour: string | number
  projects: string[]
  digestEvery: AlertDigest['every'] | 'off'
  digestAt: string
  digestZone: string
  /** The value of the select: `1`. */
  digestWeekday: string
}

export interface AskedChannel {
  settings: AlertChannelSettings
  secret: string | undefined
}

/** The secret that each kind of channel needs, in the words of the service that issues it. null: it needs none. */
export const SECRETS: Record<AlertTargetKind, { label: string; help: string } | null> = {
  email: { label: words.password, help: words.passwordHint },
  slack: { label: words.webhookUrl, help: words.slackUrlHint },
  telegram: { label: words.botToken, help: words.botTokenHint },
  discord: { label: words.webhookUrl, help: words.discordUrlHint },
  teams: { label: words.webhookUrl, help: words.teamsUrlHint },
  pagerduty: { label: words.integrationKey, help: words.integrationKeyHint },
  webhook: null,
  command: null,
  plugin: null,
  desktop: null
}
const NEEDS_SECRET: readonly AlertTargetKind[] = ['slack', 'telegram', 'discord', 'teams', 'pagerduty']

/** Whether the kind of channel can receive reports, which are too long for a pager or a notification. */
export const takesReports = (kind: AlertTargetKind): boolean => kind !== 'pagerduty' && kind !== 'desktop'

const USUAL_PER_HOUR = 60

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'

export function startChannel(channel: AlertChannel | null, zone: string): ChannelTexts {
  const { quiet = null, digest = null } = channel ?? {}
  return {
    name: channel?.name ?? '',
    enabled: channel?.enabled ?? true,
    kind: 'email',
    secret: '',
    to: [],
    from: '',
    host: '',
    port: 587,
    security: 'starttls',
    username: '',
    chatId: '',
    url: '',
    command: '',
    plugin: '',
    ...channel?.target,
    hasQuiet: quiet !== null,
    quietZone: quiet?.zone ?? zone,
    quietFrom: quiet?.from ?? '22:00',
    quietUntil: quiet?.until ?? '07:00',
    quietDays: [...(quiet?.days ?? WEEK)],
    messagesPerHour: channel === null ? USUAL_PER_HOUR : (channel.messagesPerHour ?? ''),
    projects: [...(channel?.projects ?? [])],
    digestEvery: digest?.every ?? 'off',
    digestAt: digest?.at ?? '08:00',
    digestZone: digest?.zone ?? zone,
    digestWeekday: String(digest?.weekday ?? 1)
  }
}

function fieldOf([first, second, ...rest]: readonly PropertyKey[]): PropertyKey[] {
  if (first === 'target' && second !== undefined) return [second, ...rest]
  if ((first === 'quiet' || first === 'digest') && typeof second === 'string')
    return [`${first}${second.charAt(0).toUpperCase()}${second.slice(1)}`]
  return first === undefined ? [] : [first]
}

/** `hasSecret`: a secret is stored and stays if the user enters none. */
export const channelForm = (hasSecret: boolean): z.ZodType<AskedChannel, ChannelTexts> =>
  formBy<AskedChannel, ChannelTexts>((texts) =>
    z.custom<ChannelTexts>().transform((_typed, context): AskedChannel => {
      const read = AlertChannelSettings.safeParse({
        name: texts.name.trim() || nameOf(texts),
        enabled: texts.enabled,
        target: targetOf(texts),
        quiet: quietOf(texts),
        digest: digestOf(texts),
        messagesPerHour: limitOf(texts),
        projects: texts.projects
      })
      const secret = texts.secret.trim() || undefined
      const add = (path: PropertyKey[], message: string) =>
        context.issues.push({ code: 'custom', path, message, input: texts })
      for (const { path, message } of read.error?.issues ?? []) add(fieldOf(path), message)
      if (NEEDS_SECRET.includes(texts.kind) && secret === undefined && !hasSecret) add(['secret'], words.required)
      if (texts.kind === 'webhook' && texts.url.trim() !== '' && !/^https?:\/\/[^/]/.test(texts.url.trim()))
        add(['url'], words.urlNeedsScheme)
      return read.success ? { settings: read.data, secret } : z.NEVER
    })
  )

const quietOf = (texts: ChannelTexts): QuietHours | null =>
  texts.hasQuiet
    ? { zone: texts.quietZone, from: texts.quietFrom, until: texts.quietUntil, days: texts.quietDays }
    : null

const limitOf = ({ messagesPerHour }: ChannelTexts): number | null =>
  String(messagesPerHour).trim() === '' ? null : Number(messagesPerHour)

const digestOf = ({ kind, digestEvery: every, digestAt: at, digestZone: zone, digestWeekday }: ChannelTexts) =>
  every === 'off' || !takesReports(kind) ? null : { every, at, zone, weekday: Number(digestWeekday) }

function targetOf({
  kind,
  to,
  from,
  host,
  port,
  security,
  username,
  chatId,
  url,
  command,
  plugin
}: ChannelTexts): unknown {
  if (kind === 'email')
    return { kind, to, from: from.trim(), host: host.trim(), port: Number(port), security, username: username.trim() }
  if (kind === 'telegram') return { kind, chatId: chatId.trim() }
  if (kind === 'pagerduty') return { kind, url: url.trim() || PAGERDUTY_URL }
  if (kind === 'webhook') return { kind, url: url.trim() }
  if (kind === 'command') return { kind, command: command.trim() }
  if (kind === 'plugin') return { kind, plugin: plugin.trim() }
  return { kind }
}

export function nameOf(texts: Pick<ChannelTexts, 'kind' | 'to' | 'url' | 'command' | 'plugin' | 'chatId'>): string {
  const { kind, to, url, command, plugin, chatId } = texts
  const of = {
    email: to[0],
    telegram: chatId.trim(),
    command: command.trim(),
    plugin: plugin.trim(),
    webhook: URL.canParse(url.trim()) ? new URL(url.trim()).hostname : ''
  } as Partial<Record<AlertTargetKind, string | undefined>>
  return of[kind] || CHANNEL_KINDS[kind]
}
