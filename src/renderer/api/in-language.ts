import { canRender, renderIn, type Texts } from '../../shared/texts/render.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { messagesOfLanguage } from '../../shared/texts/ui/area.ts'

/**
 * The client, with every text that has a code (shared/texts) in the chosen language, also in errors and streams. A
 * text without a code, or with one that the language lacks, stays as the engine sent it.
 */
export function inLanguage<Client extends object>(client: Client): Client {
  return messagesOfLanguage() === null ? client : mapAnswers(client, (answer) => translated(answer))
}

/** The text of a problem that the UI found itself; null without a problem. */
export function textOfProblem<Found extends Sentence | null>(problem: Found): Found extends null ? null : string
export function textOfProblem(problem: Sentence | null): string | null {
  const texts = messagesOfLanguage()
  if (problem === null || texts === null) return problem?.text ?? null
  return textOf(texts, problem.code, problem.params) ?? problem.text
}

/**
 * Returns the client with each answer, each iterator result of a stream (`{ done, value }`), and each error replaced by
 * `map`.
 */
export function mapAnswers<Client extends object>(client: Client, map: (answer: unknown) => unknown): Client {
  return new Proxy(client, {
    get(target, name, receiver) {
      const of: unknown = Reflect.get(target, name, receiver)
      return typeof of === 'function' || isObject(of) ? mapAnswers(of, map) : of
    },
    apply: (target, self, given) => mapped(Reflect.apply(target as unknown as Call, self, given), map)
  })
}

type Fields = Record<string, unknown>
type Call = (...given: unknown[]) => Promise<unknown>

async function mapped(answered: Promise<unknown>, map: (answer: unknown) => unknown): Promise<unknown> {
  try {
    const answer = await answered
    return isStream(answer) ? mapStream(answer, map) : map(answer)
  } catch (error) {
    throw map(error)
  }
}

function mapStream(stream: AsyncIterator<unknown>, map: (answer: unknown) => unknown): AsyncIterableIterator<unknown> {
  return {
    next: async () => mapped(stream.next(), map) as Promise<IteratorResult<unknown>>,
    return: async (value) => (await stream.return?.(value)) ?? { done: true, value },
    [Symbol.asyncIterator]() {
      return this
    }
  }
}

/** The same value in the language of `texts`. */
export function translated(value: unknown, texts: Texts | null = messagesOfLanguage()): unknown {
  if (texts === null) return value
  if (value instanceof Error) return translatedError(value, texts)
  if (Array.isArray(value)) return value.map((one) => translated(one, texts))
  if (!isPlain(value)) return value
  const fields = Object.entries(value).map(([name, field]) => [name, translated(field, texts)])
  return { ...Object.fromEntries(fields), ...textsOf(value, texts) }
}

/**
 * The fields with a code beside them: `text` or `words` with `code` and `params`; `title` with `titleCode`; texts in
 * `evidence` with `evidenceCodes`.
 */
function textsOf(value: Fields, texts: Texts): Fields {
  const shown: Fields = {}
  for (const [name, code] of Object.entries(value)) {
    const [, ofField, ofFields] = /^(?:code|(\w+)Code|(\w+)Codes)$/.exec(name) ?? [name, undefined, undefined]
    const field = name === 'code' ? ('words' in value ? 'words' : 'text') : ofField
    if (field !== undefined && typeof value[field] === 'string')
      shown[field] = textOf(texts, code, value[name === 'code' ? 'params' : `${field}Params`]) ?? value[field]
    if (ofFields !== undefined && isPlain(value[ofFields]) && isPlain(code))
      shown[ofFields] = { ...value[ofFields], ...renderedAll(code, texts) }
  }
  return shown
}

function renderedAll(codes: Fields, texts: Texts): Fields {
  const texted = Object.entries(codes).map(([name, of]) => [
    name,
    isPlain(of) ? textOf(texts, of['code'], of['params']) : null
  ])
  return Object.fromEntries(texted.filter(([, text]) => text !== null))
}

/** The code of why a job waits is a part of its text's code. */
function textOf(texts: Texts, code: unknown, params: unknown): string | null {
  if (typeof code !== 'string' || !isPlain(params)) return null
  const message = [code, `waiting.${code}`].map((one) => ({ code: one, params })).find((one) => canRender(texts, one))
  return message === undefined ? null : renderIn(texts, message)
}

function translatedError(error: Error & { data?: unknown }, texts: Texts): Error {
  const sent = isPlain(error.data) ? error.data['text'] : undefined
  if (!isPlain(sent)) return error
  return Object.assign(error, { message: textOf(texts, sent['code'], sent['params']) ?? error.message })
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isStream = (value: unknown): value is AsyncIterator<unknown> => isObject(value) && Symbol.asyncIterator in value

const isPlain = (value: unknown): value is Fields =>
  isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as null)
