import { createHash } from 'node:crypto'
import type { Engine } from '../../engine/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'

/**
 * The response to a request with an Idempotency-Key. `headers` has only the headers that are not part of every
 * response.
 */
export interface KeyedResponse {
  status: number
  headers: Record<string, string>
  body: unknown
}

export interface OnceRequest {
  key: string | string[]
  credential: string
  method: string
  /** Includes the query. */
  path: string
  body: unknown
  /** The value of OperationMeta.repeatableForMs for this body. */
  repeatableForMs: number
}

const KEY = /^[\x21-\x7e]{1,255}$/

const NOT_KEPT = 'null'

/**
 * Performs a request once per Idempotency-Key. The engine identifies the request by `onceKey` (RouterContext.onceKey).
 * Streams and failures are not stored, so that the key can be used again. A secret response (`isSecret`) is not stored
 * either, so a repeated request rejects with IDEMPOTENCY_SECRET_NOT_KEPT.
 */
export async function answerOnce(
  { answers, incoming }: Pick<Engine, 'answers' | 'incoming'>,
  request: OnceRequest,
  perform: (onceKey: string) => Promise<{ response: KeyedResponse; isFinal: boolean; isSecret?: boolean }>
): Promise<KeyedResponse> {
  const { key, credential, method, path, body } = request
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new ScrapdeckError('BAD_INPUT', sentence('server.idempotency_key_invalid'))
  }
  const fingerprint = await fingerprintOf({ method, path, body }, incoming)
  const onceKey = `once:${hash([credential, key])}`
  let own: KeyedResponse | null = null
  const { text, isReplayed } = await answers.once(
    { scope: credential, key, fingerprint, repeatableForMs: request.repeatableForMs },
    async () => {
      const { response, isFinal, isSecret = false } = await perform(onceKey)
      own = response
      return { text: !isFinal ? '' : isSecret ? NOT_KEPT : JSON.stringify(response), isFinal }
    }
  )
  if (!isReplayed && own !== null) return own
  if (text === NOT_KEPT) {
    throw new ScrapdeckError('IDEMPOTENCY_SECRET_NOT_KEPT', sentence('server.secret_not_kept'))
  }
  const first = JSON.parse(text) as KeyedResponse
  return { ...first, headers: { ...first.headers, 'idempotency-replayed': 'true' } }
}

async function fingerprintOf(
  { method, path, body }: Pick<OnceRequest, 'method' | 'path' | 'body'>,
  incoming: Engine['incoming']
): Promise<string> {
  return hash([method, path, body instanceof FormData ? await describeForm(body, incoming) : (body ?? null)])
}

/** Describes a form by its content, because the boundary differs with each upload. */
async function describeForm(form: FormData, incoming: Engine['incoming']): Promise<unknown> {
  return Promise.all(
    [...form].map(async ([name, value]) => {
      if (typeof value === 'string') return [name, value]
      await using file = await incoming.fromFile(value)
      return [name, value.name, file.sha256]
    })
  )
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
