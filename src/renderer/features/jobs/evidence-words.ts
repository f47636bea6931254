import type { Transition } from '../../../shared/contract/index.ts'
import { stopsOf } from '../../../shared/stop-ladder.ts'
import { formatBytes } from '../../ui/numbers.ts'
import { locale } from '../../../shared/locale.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

type NodeName = (id: string) => string

const SHORT = 60

/** The evidence of a step on one line: facts in short form, explanations as sentences. */
export function evidenceLine(entry: Transition, nodeName: NodeName): string {
  const { kind, text, evidence } = entry
  const sentences = kind === 'cancel_sent' ? stopSentences(entry) : []
  const facts: string[] = []
  for (const [key, value] of Object.entries(evidence)) {
    const note = typeof value === 'string' ? RUN_NOTES[key] : undefined
    if (note !== undefined) sentences.push(note)
    else if (kind !== 'cancel_sent' || !STOP_KEYS.has(key)) {
      facts.push(`${keyWords(key)} ${shorten(withoutFraction(valueWords(key, value, nodeName)))}`)
    }
  }
  // `Running, pid 5` need not repeat the pid.
  const line = facts.filter((words) => !text.includes(words)).join(', ')
  return [...(line === '' ? [] : [sentences.length > 0 ? `${line}.` : line]), ...sentences].join(' ')
}

/** Notes that the engine records about a run (dispatch/placing/sender.ts, dispatch/ending/finisher.ts). */
const RUN_NOTES: Record<string, string> = {
  env: texts.noteEnv,
  secrets: texts.noteSecrets,
  limits: texts.noteLimits,
  feeds: texts.noteFeeds
}

const STOP_KEYS: ReadonlySet<string> = new Set(['signal', 'nodeSaid', 'next', 'nextAtMs', 'killAtMs'])
const NODE_SAID: Record<string, string> = {
  running: texts.nodeSaidRunning,
  pending: texts.nodeSaidPending
}

function stopSentences(entry: Transition): string[] {
  const { nodeSaid } = entry.evidence
  const { next, kill } = stopsOf([entry])
  return [
    typeof nodeSaid === 'string' ? NODE_SAID[nodeSaid] : texts.nodeSaidNothing,
    next &&
      (kill?.atMs == null
        ? texts.nextStopStep(STOP_WORDS[next.step], timeOfDay.format(next.atMs))
        : texts.nextStopSteps(
            STOP_WORDS[next.step],
            timeOfDay.format(next.atMs),
            STOP_WORDS.kill,
            timeOfDay.format(kill.atMs)
          ))
  ].filter((sentence): sentence is string => typeof sentence === 'string')
}

const STOP_WORDS = { stop_now: texts.stepStopNow, kill: texts.stepKill, kill_again: texts.stepKillAgain }

/** `19:41:43`, in the local time zone. */
export const timeOfDay = new Intl.DateTimeFormat(locale(), { hour: '2-digit', minute: '2-digit', second: '2-digit' })
export const timeOfDayMs = new Intl.DateTimeFormat(locale(), {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3
})

/** Splits `freeSlots` and `finish_reason` into words. */
export function keyWords(key: string): string {
  return key
    .replace(/_/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/ at ms$/, ' at')
    .replace(/ ms$/, '')
    .replace(/ bytes$/, '')
}

/** Times are exact, with milliseconds. */
export function valueWords(key: string, value: unknown, nodeName: NodeName): string {
  if (typeof value === 'number' && /(At|Before|Since|Until)Ms$/.test(key)) return timeOfDayMs.format(value)
  if (typeof value === 'number' && /Ms$/.test(key)) return texts.milliseconds(value)
  if (key === 'exit') return exitWords(value)
  if (typeof value === 'number' && /Bytes$/.test(key)) return formatBytes(value)
  if (typeof value === 'string') return key === 'nodeId' ? nodeName(value) : value
  if (value === true || value === false) return value ? texts.yes : texts.no
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ')
  return value === null ? texts.none : JSON.stringify(value)
}

/** Describes how a process ended. `value` has the local node's format: `{ code: 1, signal: null }`. */
function exitWords(value: unknown): string {
  const { code, signal } = (value ?? {}) as { code?: unknown; signal?: unknown }
  if (typeof signal === 'string') return texts.exitSignal(signal)
  return typeof code === 'number' ? texts.exitCode(code) : JSON.stringify(value)
}

/** Shortens `19:41:43.601` and `19:41:43.601000` to seconds. */
const withoutFraction = (text: string) => text.replace(/\b(\d\d:\d\d:\d\d)\.\d{3,6}\b/g, '$1')

const shorten = (text: string) => (text.length > SHORT ? `${text.slice(0, SHORT)}…` : text)
