import type { AlertNews, AlertView } from '../../../../shared/contract/index.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import { utcMinute } from '../../../../shared/texts/parts.ts'
import type { Post } from '../post.ts'
import type { Sender } from './message.ts'
import { postJson } from './post-json.ts'
import {
  alertsLink,
  factsOf,
  headlineOf,
  jobLink,
  type Links,
  moodOf,
  oneLine,
  type Section,
  sectionsOf,
  signOf,
  timesOf,
  subjectOf
} from './words.ts'

type Block = Record<string, unknown>

/** docs.slack.dev/reference/block-kit/blocks: 50 blocks in a message. header-block: 150 characters. */
const BLOCKS_MAX = 50
const HEADER_MAX = 150
const SUBJECT_MAX = 200
const TEXT_MAX = 600
/**
 * The maximum length of all text in a message. Slack refuses messages longer than about 13,200 characters
 * (github.com/slackapi/bolt-js/issues/2509).
 */
const ALL_TEXT_MAX = 10_000
/** Blocks besides the alerts: header, facts, two labels, two lines about omitted alerts, the button. */
const OTHER_BLOCKS = 7

/**
 * The blocks of a message. All foreign text is in plain_text or rich_text elements, in which Slack interprets neither
 * markup nor mentions (docs.slack.dev/reference/block-kit/blocks/rich-text-block).
 */
export function slackBlocks(news: AlertNews, links: Links): Block[] {
  const blocks: Block[] = [
    { type: 'header', text: plainText(oneLine(`${signOf(moodOf(news))} ${headlineOf(news)}`, HEADER_MAX)) },
    {
      type: 'context',
      elements: factsOf(news).map(([name, value]) => plainText(`${name}: ${value}`))
    }
  ]
  const room = { characters: ALL_TEXT_MAX, blocks: BLOCKS_MAX - OTHER_BLOCKS }
  const sections = sectionsOf(news)
  for (const section of sections) blocks.push(...blocksOf(section, sections.length > 1, links, room))
  const link = alertsLink(links)
  if (link !== null) {
    const button = { type: 'button', action_id: 'open', text: plainText(textOf('mail.open')), url: link }
    blocks.push({ type: 'actions', elements: [button] })
  }
  return blocks
}

/** The request body for an incoming webhook. Notifications show `text`. */
export const slackMessage = (news: AlertNews, links: Links): Block => ({
  text: escapeSlack(`${signOf(moodOf(news))} ${headlineOf(news)}`),
  blocks: slackBlocks(news, links),
  mrkdwn: false,
  link_names: false,
  unfurl_links: false,
  unfurl_media: false
})

/** docs.slack.dev/messaging/formatting-message-text: only these three characters start mentions and links. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const plainText = (text: string) => ({ type: 'plain_text', text, emoji: false })
const richText = (elements: Block[]): Block => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements }]
})
const words = (text: string, style?: Record<string, true>): Block => ({
  type: 'text',
  text,
  ...(style && { style })
})

function blocksOf(
  { label, isFiring, alerts, more }: Section,
  isLabelled: boolean,
  links: Links,
  room: { characters: number; blocks: number }
): Block[] {
  const shown: Block[] = []
  for (const alert of alerts) {
    const length = Math.min(SUBJECT_MAX, alert.subject.length) + Math.min(TEXT_MAX, alert.text.length) + 60
    if (room.blocks < 1 || room.characters < length) break
    room.blocks -= 1
    room.characters -= length
    shown.push(blockOf(alert, isFiring, links))
  }
  const left = more + alerts.length - shown.length
  const title = isLabelled ? [richText([words(label, { bold: true })])] : []
  const rest = left > 0 ? [{ type: 'context', elements: [plainText(textOf('mail.and_more', { alerts: left }))] }] : []
  return [...title, ...shown, ...rest]
}

function blockOf(alert: AlertView, isFiring: boolean, links: Links): Block {
  const link = jobLink(links, alert)
  const subject = subjectOf(alert, SUBJECT_MAX)
  const text = oneLine(alert.text, TEXT_MAX)
  return richText([
    words(`${signOf(isFiring ? alert.severity : 'resolved')} `),
    words(subject, { bold: true }),
    words(text === '' ? ' ' : `\n${text}\n`),
    ...(isFiring ? [words(textOf('mail.since', { at: '' })), dateOf(alert.firedAtMs)] : [words(timesOf(alert))]),
    ...(link === null ? [] : [words(' · '), { type: 'link', url: link, text: textOf('mail.open_job') }])
  ])
}

/** A time that Slack shows in the reader's time zone. */
const dateOf = (atMs: number): Block => ({
  type: 'date',
  timestamp: Math.floor(atMs / 1000),
  format: '{date_short_pretty} {time}',
  fallback: utcMinute(atMs)
})

export const slackSender =
  (post: Post, links: Links): Sender<'slack'> =>
  ({ news, secret, say }) => {
    const shown = `${URL.parse(secret)?.origin ?? ''}/…`
    return postJson(post, { url: secret, shown, body: slackMessage(news, links), secret, say })
  }
