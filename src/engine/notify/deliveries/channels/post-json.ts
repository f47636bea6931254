import { sentence } from '../../../../shared/texts/errors/notify.ts'
import type { Sentence } from '../../../../shared/texts/sentence.ts'
import { isIP } from 'node:net'
import { createAddressGuard, hostOf } from '../addresses.ts'
import type { SendResult } from '../plan-try.ts'
import type { Post } from '../post.ts'
import { oneLine } from './words.ts'

export interface PostedResult extends SendResult {
  /** null: there was no response. */
  status: number | null
  text: string
}

const REASON_MAX = 200
/** The minimum length of the parts of a URL that we hide. Shorter parts are ordinary words. */
const PART_MIN = 7
const RETRY_AFTER_MAX_SECONDS = 86_400
/** The statuses with which Slack, Discord, PagerDuty and Teams refuse a message that is invalid or too large. */
const FINAL_STATUSES = [400, 413]

/**
 * Posts JSON to a service with a secret in the URL or body. `shown`: the URL that users see. Reads rate limits
 * from Retry-After, and from the body in the formats of Telegram and Discord.
 */
export async function postJson(
  post: Post,
  request: { url: string; shown: string; body: unknown; secret: string; say: (line: string) => void }
): Promise<PostedResult> {
  const { url, shown, secret, say } = request
  const nothing = { isGood: false, status: null, text: '' }
  const problem = problemOfAddress(url)
  if (problem !== null) return { ...nothing, answer: problem.text }
  const body = JSON.stringify(request.body)
  say(`> POST ${shown} (${Buffer.byteLength(body)} bytes)`)
  const answer = await post({ url, headers: {}, body, readsText: true })
  const withoutSecret = (text: string) => hide(text, [secret, ...partsOf(url)])
  if (answer.kind !== 'status') {
    const shown = withoutSecret(answer.problem)
    say(`< ${shown}`)
    return { ...nothing, answer: shown }
  }
  const { status, retryAfterSeconds, text = '' } = answer
  const isGood = status >= 200 && status < 300
  const reason = oneLine(withoutSecret(reasonIn(text)), REASON_MAX)
  say(`< ${status}${reason === '' ? '' : ` ${reason}`}`)
  return {
    isGood,
    status,
    text,
    answer: answerOf(status, isGood ? '' : reason),
    retryAfterSeconds: status === 429 || status >= 500 ? waitAsked(retryAfterSeconds, text) : null,
    isGone: status === 410,
    isFinal: FINAL_STATUSES.includes(status)
  }
}

/** Replaces secrets in foreign text with `…`. */
export function hide(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret.length > 3).reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
}

/** The parts of a secret URL to hide. An error text can repeat a part, and a long part is enough to use the URL. */
function partsOf(text: string): string[] {
  const { pathname, search, searchParams } = new URL(text.trim())
  const parts = [...pathname.split('/'), ...searchParams.values()].filter((part) => part.length >= PART_MIN)
  return [text, pathname + search, pathname, search, ...parts]
}

/** Allows only public addresses. Requests to them cross networks that third parties control. */
const ofEverybody = createAddressGuard([])

/**
 * Why an address cannot be used. Without TLS, networks on the way could read the secret, so plain HTTP is allowed only
 * on this machine and in private networks.
 */
export function problemOfAddress(text: string): Sentence | null {
  const url = URL.parse(text.trim())
  if (url === null) return sentence('notify.channel_address_invalid')
  const host = hostOf(url)
  const isInside = host === 'localhost' || (isIP(host) !== 0 && !ofEverybody.isAllowed(host))
  if (url.protocol === 'http:' && !isInside) return sentence('notify.channel_address_plain')
  return null
}

function answerOf(status: number, reason: string): string {
  if (status >= 300 && status < 400) return `${status}: redirects are not followed`
  return reason === '' ? String(status) : `${status}: ${reason}`
}

/** The error text of a service. Omits a proxy's HTML page, which would not help users. */
function reasonIn(text: string): string {
  const json = objectIn(text)
  if (json === null) return text.trimStart().startsWith('<') ? '' : text
  const { description, message, error, errors, status } = json
  const more = Array.isArray(errors) ? errors.filter((one) => typeof one === 'string').join(', ') : ''
  const first = [
    description,
    message,
    typeof error === 'object' ? (error as Fields | null)?.['message'] : error,
    status
  ]
  const said = first.find((one) => typeof one === 'string') ?? ''
  return [said, more].filter((part) => part !== '').join(': ')
}

type Fields = Record<string, unknown>

export function objectIn(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Fields) : null
  } catch {
    // Many services respond with plain text.
    return null
  }
}

/**
 * How long the service asks us to wait, in seconds: Retry-After or `retry_after`, whichever is longer. Discord has
 * `retry_after` at the top level (discord.com/developers/docs/topics/rate-limits), and Telegram has it in
 * `parameters` (core.telegram.org/bots/api#responseparameters).
 */
function waitAsked(header: number | null, text: string): number | null {
  const json = objectIn(text)
  const parameters = json?.['parameters'] as Fields | null | undefined
  const inBody = [json?.['retry_after'], parameters?.['retry_after']].find((one) => typeof one === 'number')
  const seconds = Math.max(header ?? 0, typeof inBody === 'number' ? Math.ceil(inBody) : 0)
  return seconds > 0 ? Math.min(seconds, RETRY_AFTER_MAX_SECONDS) : null
}
