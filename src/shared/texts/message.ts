import type { JobId, Waiting } from '../contract/index.ts'
import { en, type Words } from './en.ts'

/** The texts of one language. A second language is a file with `const de: Catalogue = { … }`. */
export type Catalogue = { [C in Code]: (params: Given<C>) => string }
export type Code = keyof typeof en

/** What a text is given: its parameters, those that are messages already rendered. */
type Given<C extends Code> = Parameters<(typeof en)[C]> extends [infer P] ? P : unknown
type Params<C extends Code> = { [K in keyof Given<C>]: Stored<Given<C>[K]> }
type Stored<P> = P extends Words ? Message : P
type Param = string | number | boolean | null | readonly string[] | Message

/** What is stored and sent instead of a sentence. `say` makes one, and checks its parameters against its text. */
export interface Message {
  code: Code
  params: Readonly<Record<string, Param>>
}

export function say<C extends Code>(
  code: C,
  ...[params]: unknown extends Given<C> ? [] : [params: Params<C>]
): Message {
  return { code, params: (params ?? {}) as Message['params'] }
}

type WaitingCodes<C extends Code = Code> = C extends `waiting.${infer W}` ? W : never

/** Why a job waits. `untilMs`: when the wait ends, if it has an end. */
export function waitFor<W extends WaitingCodes>(
  code: W,
  ...params: Parameters<typeof say<`waiting.${W}`>> extends [unknown, ...infer P] ? P : never
): Waiting {
  const { text, params: given } = written((say as (...all: unknown[]) => Message)(`waiting.${code}`, ...params))
  return { code, text, params: given }
}

/** Words from outside, such as the answer of a node, or from before there were codes. */
export const plain = (text: string): Message => say('text', { text })

/** A code that a later version wrote is shown as it is. */
export function render({ code, params }: Message, texts: Catalogue = en): string {
  if (!Object.hasOwn(texts, code)) return code
  const given = Object.entries(params).map(([name, value]) => [name, isMessage(value) ? render(value, texts) : value])
  return (texts[code] as (params: Record<string, unknown>) => string)(Object.fromEntries(given))
}

/** What the API sends: the text beside its code and parameters. */
export const written = ({ code, params }: Message) => ({ text: render({ code, params }), code, params })

const ENCODED = /^\["[a-z_.]+"[,\]]/

/** `["timeline.sent",{"node":"eu-1"}]`, and words from outside as they are. */
export function encode({ code, params }: Message): string {
  const { text } = params
  if (code === 'text' && typeof text === 'string' && !ENCODED.test(text)) return text
  return JSON.stringify(isEmpty(params) ? [code] : [code, params])
}

export function decode(stored: string): Message {
  if (!ENCODED.test(stored)) return plain(stored)
  const [code, params = {}] = JSON.parse(stored) as [Code, Message['params']?]
  return { code, params }
}

/** The jobs that a message names, also in messages among its parameters. */
export function jobsIn({ params }: Message): JobId[] {
  return Object.entries(params).flatMap(([name, value]) =>
    isMessage(value) ? jobsIn(value) : name === 'jobId' && typeof value === 'string' ? [value as JobId] : []
  )
}

/** Named together with the job of the same message, or not at all. */
const NAMES_OF_JOB = ['jobId', 'chain', 'spider']

/** The message without the names of jobs that `isShown` does not accept: these parameters are null. */
export function withoutJobs(message: Message, isShown: (id: JobId) => boolean): Message {
  const { jobId } = message.params
  const isHidden = typeof jobId === 'string' && !isShown(jobId as JobId)
  const params = Object.entries(message.params).map(([name, value]): [string, Param] => {
    if (isMessage(value)) return [name, withoutJobs(value, isShown)]
    return [name, isHidden && NAMES_OF_JOB.includes(name) ? null : value]
  })
  return { code: message.code, params: Object.fromEntries(params) }
}

const isMessage = (value: Param): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function isEmpty(params: Message['params']): boolean {
  for (const _name in params) return false
  return true
}
