import type { AlertNews, AlertView } from '../../../../shared/contract/index.ts'
import type { Mood } from '../../../../shared/texts/en-mails.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import type { Post } from '../post.ts'
import type { Sender } from './message.ts'
import { objectIn, postJson } from './post-json.ts'
import {
  alertsLink,
  cut,
  factsOf,
  headlineOf,
  jobLink,
  linesOf,
  type Links,
  moodOf,
  oneLine,
  sectionsOf,
  signOf,
  subjectOf
} from './words.ts'

/**
 * discord.com/developers/docs/resources/message: `content` 2,000 characters. Each embed: title 256, description
 * 4,096, field value 1,024. At most 10 embeds with 6,000 characters in total.
 */
const CONTENT_MAX = 2_000
const DESCRIPTION_MAX = 2_400
const FIELD_MAX = 1_024
const INLINE_MAX = 60
const SUBJECT_MAX = 100
const TEXT_MAX = 300
/**
 * The code of `Unknown Webhook`: the webhook was deleted. Discord blocks clients that keep trying
 * (topics/rate-limits).
 */
const UNKNOWN_WEBHOOK = 10_015
/**
 * The result for an unknown webhook. It starts with 410, so the overview reports that the receiver turned off the
 * channel.
 */
const GONE = '410: Discord does not know this webhook any more'

const COLORS: Record<Mood, number> = {
  critical: 0xe03131,
  warning: 0xf08c00,
  info: 0x1c7ed6,
  resolved: 0x2f9e44,
  test: 0x868e96
}

/** The request body for a webhook. Whatever the text contains, it pings no user, and foreign Markdown has no effect. */
export function discordMessage(news: AlertNews, links: Links) {
  const url = alertsLink(links)
  const mood = moodOf(news)
  const [first, ...others] = sectionsOf(news).map((section) => ({
    title: section.label,
    ...(url !== null && { url }),
    color: COLORS[section.isFiring ? mood : 'resolved'],
    description: linesOf(section, DESCRIPTION_MAX, (alert) => lineOf(alert, section.isFiring, links)).join('\n')
  }))
  const fields = factsOf(news).map(([name, value]) => ({
    name,
    value: shown(value, FIELD_MAX),
    inline: value.length <= INLINE_MAX
  }))
  return {
    content: cut(`${signOf(mood)} ${escapeMarkdown(headlineOf(news))}`, CONTENT_MAX),
    embeds: [{ ...first, fields }, ...others],
    allowed_mentions: { parse: [] }
  }
}

/**
 * Puts a backslash before each ASCII punctuation mark, including `<`, `@`, `#` and the `:` of URLs, which would
 * become links.
 */
const escapeMarkdown = (text: string): string => text.replaceAll(/[!-/:-@[-`{-~]/g, String.raw`\$&`)

function shown(text: string, most: number): string {
  const line = oneLine(text, most)
  const escaped = escapeMarkdown(line)
  return escaped.length <= most ? escaped : escapeMarkdown(oneLine(line, Math.floor(most / 2)))
}

/** Discord shows `<t:…:R>` as the elapsed time, in the reader's language. */
function lineOf(alert: AlertView, isFiring: boolean, links: Links): string {
  const subject = shown(subjectOf(alert, SUBJECT_MAX), SUBJECT_MAX)
  const at = Math.floor((alert.resolvedAtMs ?? alert.firedAtMs) / 1000)
  const link = jobLink(links, alert)
  const text = shown(alert.text, TEXT_MAX)
  const sign = signOf(isFiring ? alert.severity : 'resolved')
  return `${sign} **${subject}** · <t:${at}:R>${link === null ? '' : ` · [${textOf('mail.open_job')}](<${link}>)`}${text === '' ? '' : `\n${text}`}`
}

/** Posts to a Discord webhook and waits until the message is stored. Otherwise, Discord would not report errors. */
export const discordSender =
  (post: Post, links: Links): Sender<'discord'> =>
  async ({ news, secret, say }) => {
    const url = URL.parse(secret)
    url?.searchParams.set('wait', 'true')
    const request = { url: url?.href ?? secret, shown: `${url?.origin ?? ''}/…`, secret, say }
    const result = await postJson(post, { ...request, body: discordMessage(news, links) })
    const isGone = result.status === 404 && objectIn(result.text)?.['code'] === UNKNOWN_WEBHOOK
    return isGone ? { ...result, isGone, answer: GONE } : result
  }
