import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { AnswerStore } from '../../storage/store.ts'

/**
 * How long responses are remembered. A client that got no response retries within minutes. A day also covers a
 * client that was off overnight.
 */
const REMEMBERED_MS = 24 * 3_600_000
/** Beyond this, the oldest responses are forgotten. A repeated request then finds the jobs created with its key. */
const QUOTA = {
  ofScope: { count: 100_000, bytes: 64 * 1024 * 1024 },
  ofAll: { count: 300_000, bytes: 256 * 1024 * 1024 }
}
/** The maximum length of a remembered response, enough for lists of ten thousand ids. */
const LONGEST_ANSWER = 8 * 1024 * 1024
/** The maximum number of responses that wait to be written. A full disk is noticed long before this. */
const MAX_UNWRITTEN = 1_000

export interface KeyedRequest {
  /** Identifies the client's credentials. Different clients can use the same key. */
  scope: string
  key: string
  fingerprint: string
  /** A request with an unknown result can be performed again until this long after its start. 0: never. */
  repeatableForMs: number
}

/** If not `isFinal`, the key becomes free again, as if the request had not been sent. */
export interface KeyedAnswer {
  text: string
  isFinal: boolean
}

export interface RememberedAnswersParts {
  store: AnswerStore
  secretBox: Pick<SecretBox, 'seal' | 'open'>
  newRunId: () => string
  clock: Clock
  logger: Logger
}

/** Remembers responses by idempotency key. They are encrypted at rest. */
export class RememberedAnswers {
  readonly #parts: RememberedAnswersParts
  #runId: string | null = null
  readonly #underWay = new Map<string, { fingerprint: string; answer: Promise<KeyedAnswer> }>()
  /** Responses that could not be stored although their requests took effect. */
  readonly #unwritten = new Map<string, string>()

  constructor(parts: RememberedAnswersParts) {
    this.#parts = parts
  }

  /**
   * Performs a request once per key. A repeated request gets the first response (`isReplayed`), even during the first
   * request and after a restart. Rejects with IDEMPOTENCY_KEY_REUSED for a different request with the same key, and
   * with IDEMPOTENCY_CUT_OFF if Scrapdeck stopped during the first request and must not perform it twice.
   */
  async once(
    request: KeyedRequest,
    perform: () => Promise<KeyedAnswer>
  ): Promise<{ text: string; isReplayed: boolean }> {
    const name = `${request.scope}\n${request.key}`
    for (;;) {
      const other = this.#underWay.get(name)
      if (other === undefined) break
      refuseOther(request, other.fingerprint)
      const answer = await other.answer.catch(() => null)
      if (answer?.isFinal === true) return { text: answer.text, isReplayed: true }
      // The first request failed or its response was not final. One of the waiting requests becomes the first.
    }
    const answer = this.#performOnce(name, request, perform)
    this.#underWay.set(name, { fingerprint: request.fingerprint, answer })
    try {
      const { text, isReplayed } = await answer
      return { text, isReplayed }
    } finally {
      this.#underWay.delete(name)
    }
  }

  async #performOnce(
    name: string,
    request: KeyedRequest,
    perform: () => Promise<KeyedAnswer>
  ): Promise<KeyedAnswer & { isReplayed: boolean }> {
    const { store, secretBox, clock } = this.#parts
    const { scope, key, fingerprint } = request
    this.#runId ??= this.#parts.newRunId()
    const nowMs = clock.nowMs()
    const claim = {
      scope,
      key,
      fingerprint,
      begunBy: this.#runId,
      nowMs,
      expiresAtMs: nowMs + REMEMBERED_MS,
      quota: QUOTA
    }
    const earlier = await store.claimAnswer(claim)
    if (earlier !== null) {
      refuseOther(request, earlier.fingerprint)
      const unwritten = this.#unwritten.get(name)
      const text = earlier.answer === null ? unwritten : await secretBox.open(earlier.answer)
      if (earlier.answer === null && unwritten !== undefined) await this.#write(name, request, unwritten)
      if (text !== undefined) return { text, isFinal: true, isReplayed: true }
      // No response is stored, and this run of the engine is not processing the request. If this run started it, the
      // request had no effect.
      const begunMs = earlier.expiresAtMs - REMEMBERED_MS
      if (earlier.begunBy !== this.#runId && !(nowMs - begunMs < request.repeatableForMs)) {
        throw new ScrapdeckError('IDEMPOTENCY_CUT_OFF', sentence('api.first_request_cut_off'))
      }
    }
    let answer: KeyedAnswer
    try {
      answer = await perform()
    } catch (error) {
      await store.keepAnswer(scope, key, null)
      throw error
    }
    const isKept = answer.isFinal && answer.text.length <= LONGEST_ANSWER
    await this.#write(name, request, isKept ? answer.text : null)
    return { ...answer, isReplayed: false }
  }

  /** If `text` is null, frees the key. A failed write must not fail a request that took effect. */
  async #write(name: string, { scope, key }: KeyedRequest, text: string | null): Promise<void> {
    const { store, secretBox, logger } = this.#parts
    try {
      await store.keepAnswer(scope, key, text === null ? null : await secretBox.seal(text))
      this.#unwritten.delete(name)
    } catch (error) {
      if (text !== null && this.#unwritten.size < MAX_UNWRITTEN) this.#unwritten.set(name, text)
      logger.error({ error }, 'The response to a request with an idempotency key could not be stored')
    }
  }
}

function refuseOther(request: KeyedRequest, fingerprint: string): void {
  if (fingerprint === request.fingerprint) return
  throw new ScrapdeckError('IDEMPOTENCY_KEY_REUSED', sentence('api.idempotency_key_reused'))
}
