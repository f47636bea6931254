import type { AlertNews, AlertView } from '../../../../shared/contract/index.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import type { Post } from '../post.ts'
import type { Sender } from './message.ts'
import { objectIn, postJson } from './post-json.ts'
import {
  alertsLink,
  factsOf,
  headlineOf,
  jobLink,
  linesOf,
  type Links,
  moodOf,
  sectionsOf,
  signOf,
  timesOf,
  subjectOf,
  oneLine
} from './words.ts'

export const TELEGRAM_API = 'https://api.telegram.org'
/** core.telegram.org/bots/api#sendmessage: at most 4,096 characters after parsing. We also count markup. */
const TEXT_MAX = 4_096
const SUBJECT_MAX = 100
const LINE_MAX = 300
/** Space for everything besides alerts, including the lines with the number of omitted alerts. */
const LEAST_LEFT = 400

/** HTML (core.telegram.org/bots/api#html-style). Telegram finds no mentions, commands or URLs in `code`. */
export function telegramText(news: AlertNews, links: Links): string {
  const title = `${signOf(moodOf(news))} ${code(headlineOf(news))}`
  const facts = factsOf(news).map(([name, value]) => `${name}: ${code(value)}`)
  const link = alertsLink(links)
  const ends = [...facts, ...(link === null ? [] : [anchor(link, textOf('mail.open'))])]
  let room = TEXT_MAX - [title, ...ends].join('\n').length - LEAST_LEFT
  const sections = sectionsOf(news).map((section) => {
    const lines = linesOf(section, room, (alert) => lineOf(alert, section.isFiring, links))
    room -= lines.join('\n').length
    return [`<b>${section.label}</b>`, ...lines].join('\n')
  })
  return [title, ...sections, ends.join('\n')].join('\n\n')
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`
const anchor = (url: string, text: string): string => `<a href="${escapeHtml(url)}">${text}</a>`

function lineOf(alert: AlertView, isFiring: boolean, links: Links): string {
  const link = jobLink(links, alert)
  const text = oneLine(alert.text, LINE_MAX)
  const sign = signOf(isFiring ? alert.severity : 'resolved')
  const end = link === null ? '' : ` · ${anchor(link, textOf('mail.open_job'))}`
  const subject = subjectOf(alert, SUBJECT_MAX)
  return `${sign} ${code(subject)} ${timesOf(alert)}${end}${text === '' ? '' : `\n${code(text)}`}`
}

export const telegramSender =
  (post: Post, links: Links, api: string): Sender<'telegram'> =>
  async ({ target, news, secret, say }) => {
    const result = await postJson(post, {
      url: `${api}/bot${secret}/sendMessage`,
      shown: `${api}/bot…/sendMessage`,
      body: {
        chat_id: target.chatId,
        text: telegramText(news, links),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true }
      },
      secret,
      say
    })
    const parameters = objectIn(result.text)?.['parameters'] as { migrate_to_chat_id?: unknown } | undefined
    const moved = parameters?.migrate_to_chat_id
    return {
      ...result,
      // Most errors concern the chat. The operator can correct it or add the bot to it.
      isFinal: result.status === 400 && /can't parse|too long|text is empty/i.test(result.answer),
      isGone: false,
      answer: typeof moved === 'number' ? `${result.answer}. The chat now has the id ${moved}: enter it` : result.answer
    }
  }
