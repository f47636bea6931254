import type { AlertNews, AlertView } from '../../../../shared/contract/index.ts'
import type { Mood } from '../../../../shared/texts/en-mails.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import type { Post } from '../post.ts'
import type { Sender } from './message.ts'
import { hide, postJson } from './post-json.ts'
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

type Element = Record<string, unknown>

/** learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors: 28 KB in a message. */
const MESSAGE_MAX_BYTES = 28_000
const SUBJECT_MAX = 100
const TEXT_MAX = 400
/** Matches the first character of `{{`, `${` and `@{`, which start a date or a template in a Workflow or a card. */
const JOINED = /\{(?=\{)|\$(?=\{)|@(?=\{)/g
const COLORS: Record<Mood, string> = {
  critical: 'attention',
  warning: 'warning',
  info: 'accent',
  resolved: 'good',
  test: 'default'
}

/**
 * A message with an Adaptive Card, as the Workflows webhooks of Teams expect it. Foreign text is in TextRuns,
 * which do not interpret Markdown (adaptivecards.io/explorer/TextRun.html).
 */
export function teamsMessage(news: AlertNews, links: Links): Element {
  for (
    let most = Number.POSITIVE_INFINITY;
    ;
    most = Math.min(most - 1, news.firing.length + news.resolved.length - 1)
  ) {
    const message = messageOf(news, links, most)
    if (most <= 0 || Buffer.byteLength(JSON.stringify(message)) <= MESSAGE_MAX_BYTES) return message
  }
}

function messageOf(news: AlertNews, links: Links, most: number): Element {
  const link = alertsLink(links)
  let room = most
  const sections = sectionsOf(news).flatMap((section) => {
    const shown = section.alerts.slice(0, Math.max(0, room))
    room -= shown.length
    return elementsOf(section, shown, links)
  })
  const mood = moodOf(news)
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    msteams: { width: 'Full' },
    body: [
      runs([{ text: `${signOf(mood)} ${headlineOf(news)}`, weight: 'bolder', size: 'large', color: COLORS[mood] }]),
      ...sections,
      ...factsOf(news).map(([name, value]) =>
        runs([{ text: `${name}: ${value}`, isSubtle: true, size: 'small' }], 'none')
      )
    ],
    ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: textOf('mail.open'), url: link }] })
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return { type: 'message', attachments: [attachment] }
}

const runs = (inlines: Element[], spacing = 'default'): Element => ({
  type: 'RichTextBlock',
  spacing,
  inlines: inlines.map((inline) => ({
    type: 'TextRun',
    ...inline,
    text: String(inline['text']).replaceAll(JOINED, '$&\u2060')
  }))
})

function elementsOf({ label, isFiring, alerts, more }: Section, shown: AlertView[], links: Links): Element[] {
  const left = more + alerts.length - shown.length
  return [
    runs([{ text: label, weight: 'bolder' }], 'medium'),
    ...shown.map((alert) => {
      const link = jobLink(links, alert)
      const text = oneLine(alert.text, TEXT_MAX)
      const open =
        link === null
          ? []
          : [{ text: ' ' }, { text: textOf('mail.open_job'), selectAction: { type: 'Action.OpenUrl', url: link } }]
      return runs([
        { text: `${signOf(isFiring ? alert.severity : 'resolved')} ` },
        { text: subjectOf(alert, SUBJECT_MAX), weight: 'bolder' },
        { text: ` ${timesOf(alert)} `, isSubtle: true },
        ...(text === '' ? [] : [{ text }]),
        ...open
      ])
    }),
    ...(left > 0 ? [runs([{ text: textOf('mail.and_more', { alerts: left }), isSubtle: true }])] : [])
  ]
}

/** Posts to a Workflows webhook. The older connectors respond with 200 and put errors into the body. */
export const teamsSender =
  (post: Post, links: Links): Sender<'teams'> =>
  async ({ news, secret, say }) => {
    const shown = `${URL.parse(secret)?.origin ?? ''}/…`
    const result = await postJson(post, { url: secret, shown, body: teamsMessage(news, links), secret, say })
    if (!result.isGood || !/delivery failed/i.test(result.text)) return result
    return { ...result, isGood: false, answer: oneLine(`${result.status}: ${hide(result.text, [secret])}`, 200) }
  }
