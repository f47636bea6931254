import type { RetryPolicy } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { parseLimit } from './limits.ts'

/** What stands in the fields while somebody types. `attempts` empty: nothing is tried again. */
export interface RetryTexts {
  readonly attempts: string
  readonly backoff: string
  readonly factor: string
  readonly longest: string
  readonly on: 'both' | 'failed' | 'lost'
}

const NOTHING: RetryTexts = { attempts: '', backoff: '30 s', factor: '2', longest: '1 h', on: 'both' }
const ATTEMPTS_MAX = 100
const FACTOR_MAX = 10
const BACKOFF_SECONDS_MAX = 86_400
const LONGEST_SECONDS_MAX = 604_800
const WAITS_TOLD = 3

export function retryTexts(retry: RetryPolicy | null | undefined): RetryTexts {
  if (retry == null) return NOTHING
  return {
    attempts: String(retry.attempts),
    backoff: formatDuration(retry.backoffSeconds),
    factor: String(retry.backoffFactor),
    longest: formatDuration(retry.backoffMaxSeconds),
    on: retry.on.length === 2 ? 'both' : retry.on[0]!
  }
}

/** What the fields say; null: nothing is tried again. */
export function readRetry(texts: RetryTexts): { retry: RetryPolicy | null } | { problem: string } {
  if (texts.attempts.trim() === '') return { retry: null }
  const attempts = Number(texts.attempts)
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > ATTEMPTS_MAX)
    return { problem: `Retry: runs in all is a whole number from 1 to ${ATTEMPTS_MAX}` }
  const factor = Number(texts.factor)
  if (texts.factor.trim() === '' || !(factor >= 1 && factor <= FACTOR_MAX))
    return { problem: `Retry: “then times” is a number from 1 to ${FACTOR_MAX}` }
  const backoff = readWait(texts.backoff, BACKOFF_SECONDS_MAX)
  if ('problem' in backoff) return { problem: `Retry: first wait: ${inSentence(backoff.problem)}` }
  const longest = readWait(texts.longest, LONGEST_SECONDS_MAX)
  if ('problem' in longest) return { problem: `Retry: longest wait: ${inSentence(longest.problem)}` }
  return {
    retry: {
      attempts,
      backoffSeconds: backoff.seconds,
      backoffFactor: factor,
      backoffMaxSeconds: longest.seconds,
      on: texts.on === 'both' ? ['failed', 'lost'] : [texts.on]
    }
  }
}

/** `up to 4 runs when it failed or was lost, after 30 s, 1 min, 2 min`; null: nothing is tried again. */
export function describeRetry(retry: RetryPolicy | null): string | null {
  if (retry === null || retry.attempts < 2) return null
  const waits = Array.from({ length: Math.min(WAITS_TOLD, retry.attempts - 1) }, (_, index) =>
    Math.min(retry.backoffMaxSeconds, retry.backoffSeconds * retry.backoffFactor ** index)
  )
  const isCut = retry.attempts - 1 > WAITS_TOLD
  const when = retry.on.length === 2 ? 'failed or was lost' : retry.on[0] === 'lost' ? 'was lost' : 'failed'
  const told = waits.map((seconds) => formatDuration(Math.round(seconds))).join(', ')
  return `up to ${retry.attempts} runs when it ${when}, after ${told}${isCut ? ' …' : ''}`
}

const inSentence = (words: string) => words.charAt(0).toLowerCase() + words.slice(1)

function readWait(text: string, maximum: number): { seconds: number } | { problem: string } {
  if (/^\s*0\s*(s|min|h|d)?\s*$/.test(text)) return { seconds: 0 }
  const read = parseLimit('wallSeconds', text)
  if ('problem' in read) return read
  if (read.value === null) return { problem: 'Say how long, such as 30 s' }
  return read.value > maximum ? { problem: `At most ${formatDuration(maximum)}` } : { seconds: read.value }
}
