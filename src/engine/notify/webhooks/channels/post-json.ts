import { isIP } from 'node:net'
import { createAddressGuard, hostOf } from '../addresses.ts'
import type { SendResult } from '../plan-try.ts'
import type { Post } from '../post.ts'
import { oneLine } from './words.ts'

export interface PostedResult extends SendResult {
  /** null: there was no response. */
  status: number | null
  /** The beginning of the response's body. */
  text: string
}

const REASON_MAX = 200
/** Shorter parts of an address are ordinary words. */
const PART_MIN = 7
const RETRY_AFTER_MAX_SECONDS = 86_400
/** The answers of Slack, Discord, PagerDuty and Teams to a message that they cannot read or that is too large. */
const FINAL_STATUSES = [400, 413]

/**
 * Posts JSON to a service whose address or body has a secret in it. `shown`: the address for people. Rate limits are
 * read from Retry-After, and from the body as Telegram and Discord write them.
 */
export async function postJson(
  post: Post,
  request: { url: string; shown: string; body: unknown; secret: string; say: (line: string) => void }
): Promise<PostedResult> {
  const { url, shown, secret, say } = request
  const nothing = { isGood: false, status: null, text: '' }
  const problem = problemOfAddress(url)
  if (problem !== null) return { ...nothing, answer: problem }
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

/** Replaces secrets in a text from outside with `…`. */
export function hide(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret.length > 3).reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
}

/** The parts of a secret address to hide: a service may repeat one, and a long part is enough to use the address. */
function partsOf(text: string): string[] {
  const { pathname, search, searchParams } = new URL(text.trim())
  const parts = [...pathname.split('/'), ...searchParams.values()].filter((part) => part.length >= PART_MIN)
  return [text, pathname + search, pathname, search, ...parts]
}

/** Allows only public addresses: requests to them cross networks that others control. */
const ofEverybody = createAddressGuard([])

/** Without TLS, networks in between could read the secret. Only this machine and private networks may omit it. */
export function problemOfAddress(text: string): string | null {
  const url = URL.parse(text.trim())
  if (url === null) return 'The address of this channel is not valid: enter the whole address, such as https://…'
  const host = hostOf(url)
  const isInside = host === 'localhost' || (isIP(host) !== 0 && !ofEverybody.isAllowed(host))
  if (url.protocol === 'http:' && !isInside) return 'The address of this channel must start with https: it is a secret'
  return null
}

function answerOf(status: number, reason: string): string {
  if (status >= 300 && status < 400) return `${status}: redirects are not followed`
  return reason === '' ? String(status) : `${status}: ${reason}`
}

/** The error text of a service; a proxy's page would not help users. */
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
    // Many services answer in plain text.
    return null
  }
}

/**
 * `retry_after`, in seconds: Discord at the top (discord.com/developers/docs/topics/rate-limits), Telegram in
 * `parameters` (core.telegram.org/bots/api#responseparameters).
 */
function waitAsked(header: number | null, text: string): number | null {
  const json = objectIn(text)
  const parameters = json?.['parameters'] as Fields | null | undefined
  const inBody = [json?.['retry_after'], parameters?.['retry_after']].find((one) => typeof one === 'number')
  const seconds = Math.max(header ?? 0, typeof inBody === 'number' ? Math.ceil(inBody) : 0)
  return seconds > 0 ? Math.min(seconds, RETRY_AFTER_MAX_SECONDS) : null
}
