import type { JobId, Waiting } from '../contract/index.ts'
import { en } from './en.ts'
import type { errorTexts } from './error-texts.ts'
import type { Words } from './parts.ts'
import { renderIn, type Texts } from './render.ts'
import type { Sentence } from './sentence.ts'

/** The texts of one language. A second language is a file with `const de: Catalogue = { … }`. */
export type Catalogue = typeof en & typeof errorTexts
export type Code = keyof typeof en

/** The parameters of a text. Parameters that are messages are already rendered. */
type Given<C extends Code> = Parameters<(typeof en)[C]> extends [infer P] ? P : unknown
type Params<C extends Code> = { [K in keyof Given<C>]: Stored<Given<C>[K]> }
type Parameterized<C extends Code> = unknown extends Given<C> ? [] : [params: Params<C>]
/** Text from outside, such as a node's own message, can be passed as a plain string. */
type Stored<P> = P extends Words ? Message | string : P
type Param = string | number | boolean | null | readonly string[] | Message

/** What is stored and sent instead of a sentence. `say` creates it and checks its parameters against its text. */
export interface Message {
  code: Code
  params: Readonly<Record<string, Param>>
}

export function say<C extends Code>(code: C, ...[params]: Parameterized<C>): Message {
  return { code, params: (params ?? {}) as Message['params'] }
}

/** Returns the text itself, for e-mails and chats, where no code is stored or sent. */
export const textOf = <C extends Code>(code: C, ...params: Parameterized<C>): string => render(say(code, ...params))

type WaitingCodes<C extends Code = Code> = C extends `waiting.${infer W}` ? W : never

/** Why a job waits. `untilMs`: when the wait ends, if that is known. */
export function waitFor<W extends WaitingCodes>(
  code: W,
  ...params: Parameters<typeof say<`waiting.${W}`>> extends [unknown, ...infer P] ? P : never
): Waiting {
  const { text, params: given } = written((say as (...all: unknown[]) => Message)(`waiting.${code}`, ...params))
  return { code, text, params: given }
}

/** Uses the plain text if the server is too old to send parameters. */
export const waitingMessage = ({ code, text, params }: Waiting): Message =>
  params === undefined ? plain(text) : ({ code: `waiting.${code}`, params } as Message)

export const messageOf = (sent: { text: string; code?: string | undefined; params?: object | undefined }): Message =>
  isKnown(sent.code) ? ({ code: sent.code, params: sent.params ?? {} } as Message) : plain(sent.text)

/** The message of a `problem` with its code; null: no problem. */
export const problemOf = (sent: {
  problem: string | null
  problemCode?: string | undefined
  problemParams?: object | undefined
}): Message | null =>
  sent.problem === null ? null : messageOf({ text: sent.problem, code: sent.problemCode, params: sent.problemParams })

/** Whether this version has the code. Later versions can send other codes. */
const isKnown = (code: string | undefined): code is Code => code !== undefined && Object.hasOwn(en, code)

/** For an external text, such as a node's response, or a text stored before codes existed. */
export const plain = (text: string): Message => say('text', { text })

/** Returns the code itself if a later version wrote it, or if the stored parameters do not fit its text. */
export const render = (message: Message, texts: Texts = en): string => renderIn(texts, message)

/** Converts a message to a parameter of another message. External texts need no code there. */
export const asParam = (message: Message): Message | string =>
  message.code === 'text' ? (message.params['text'] as string) : message

export const written = ({ code, params }: Message) => ({ text: render({ code, params }), code, params })

/** Like `written`, for another field: `title`, `titleCode` and `titleParams`. */
export function writtenAs<Field extends string>(field: Field, message: Message) {
  const { text, code, params } = written(message)
  return { [field]: text, [`${field}Code`]: code, [`${field}Params`]: params } as Record<
    Field | `${Field}Code`,
    string
  > &
    Record<`${Field}Params`, Message['params']>
}

/** The message as the text of an error or as a parameter of an error. External texts need no code. */
export function asSentence(message: Message): Sentence | string {
  const { text, code, params } = written(message)
  return code === 'text' ? text : { text, code, params: params as Sentence['params'] }
}

/** Like `writtenAs`. null: the field is null, and has neither a code nor parameters. */
export const writtenIfAny = <Field extends string>(field: Field, message: Message | null) =>
  (message === null ? { [field]: null } : writtenAs(field, message)) as Record<Field, string | null> &
    Partial<Record<`${Field}Code`, string> & Record<`${Field}Params`, Message['params']>>

const ENCODED = /^\["[a-z_.]+"[,\]]/

/** `["timeline.sent",{"node":"eu-1"}]`. External texts stay as they are. */
export function encode({ code, params }: Message): string {
  const { text } = params
  if (code === 'text' && typeof text === 'string' && !ENCODED.test(text)) return text
  return JSON.stringify(isEmpty(params) ? [code] : [code, params])
}

export const encodeText = (text: Message | string): string => encode(typeof text === 'string' ? plain(text) : text)

/**
 * Decodes a stored text. Spiders can write to some of the files that contain these texts. Everything without the exact
 * form of a message is therefore an external text.
 */
export function decode(stored: string): Message {
  if (!ENCODED.test(stored)) return plain(stored)
  try {
    const [code, params = {}, ...rest] = JSON.parse(stored) as [Code, unknown?, ...unknown[]]
    if (rest.length === 0 && isShapedLike({ code, params })) return { code, params } as Message
  } catch {
    // Not JSON.
  }
  return plain(stored)
}

/** The message with each string among its parameters changed, in lists and nested messages too. */
export function mapStrings({ code, params }: Message, change: (text: string) => string): Message {
  const changed = (value: Param): Param => {
    if (typeof value === 'string') return change(value)
    if (isMessage(value)) return mapStrings(value, change)
    return typeof value === 'object' && value !== null ? value.map((one) => change(one)) : value
  }
  return { code, params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, changed(value)])) }
}

const NESTED_MAX = 8

function isShapedLike({ code, params }: { code?: unknown; params?: unknown }, depth = 0): boolean {
  if (typeof code !== 'string' || typeof params !== 'object' || params === null || Array.isArray(params)) return false
  if (code === 'text' && typeof (params as { text?: unknown }).text !== 'string') return false
  return Object.values(params).every((value) => isParam(value, depth))
}

function isParam(value: unknown, depth: number): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string')
  return typeof value !== 'object' || value === null || (depth < NESTED_MAX && isShapedLike(value, depth + 1))
}

export const readsSame = (one: string, other: string): boolean =>
  one === other || render(decode(one)) === render(decode(other))

const JOB_IDS = /(?:\bjob )?\b([0-9a-f]{32})\b/g

/** The job ids in the parameters, including those in nested messages and external texts. */
export function jobsIn({ params }: Message): JobId[] {
  return Object.values(params).flatMap((value) => {
    if (typeof value === 'string') return [...value.matchAll(JOB_IDS)].map(([, id]) => id as JobId)
    return isMessage(value) ? jobsIn(value) : []
  })
}

/**
 * Parameters that are hidden together with the job of the same message. If `chain` is one of them, `outcome` is
 * hidden, too, because it is the hidden job's outcome.
 */
const NAMES_OF_JOB = ['jobId', 'chain', 'spider']
const NAMES_WITH_CHAIN = [...NAMES_OF_JOB, 'outcome']

/** Removes the names of jobs that `isShown` rejects: parameters become null, external texts become "another job". */
export function withoutJobs(message: Message, isShown: (id: JobId) => boolean): Message {
  const { jobId, chain } = message.params
  const isHidden = typeof jobId === 'string' && !isShown(jobId as JobId)
  const names = chain === undefined ? NAMES_OF_JOB : NAMES_WITH_CHAIN
  const params = Object.entries(message.params).map(([name, value]): [string, Param] => {
    if (isHidden && names.includes(name)) return [name, null]
    if (typeof value !== 'string') return [name, isMessage(value) ? withoutJobs(value, isShown) : value]
    return [
      name,
      name === 'jobId' ? value : value.replace(JOB_IDS, (job, id: JobId) => (isShown(id) ? job : 'another job'))
    ]
  })
  return { code: message.code, params: Object.fromEntries(params) }
}

export const isMessage = (value: Param | undefined): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function isEmpty(params: Message['params']): boolean {
  for (const _name in params) return false
  return true
}
