import { ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { Store } from '../store/store.ts'

/** A client that heard nothing asks again within minutes; a day leaves room for one that was off for a night. */
const REMEMBERED_MS = 24 * 3_600_000

export interface KeyedRequest {
  /** Whose key it is: keys of two credentials are two keys. */
  scope: string
  key: string
  fingerprint: string
  /** Doing it twice is doing it once: it may be done again where nobody knows whether it was. */
  isRepeatable: boolean
}

/** `isFinal`: to be remembered; else the key is free again, as if nothing had been asked. */
export interface KeyedAnswer {
  text: string
  isFinal: boolean
}

export interface RememberedAnswers {
  /**
   * Does it once for each key: whoever asks again gets the answer of the first (`isReplayed`), also while the first is still at work, and
   * after a restart. Rejects with IDEMPOTENCY_KEY_REUSED for another request under the same key, and with IDEMPOTENCY_CUT_OFF where
   * Scrapdeck ended in the middle and what it asks for may not be done twice.
   */
  once(request: KeyedRequest, perform: () => Promise<KeyedAnswer>): Promise<{ text: string; isReplayed: boolean }>
}

/** Answers are sealed at rest: some hold what is shown only once. `newRunId` makes a name for this run of the engine, when one is needed. */
export function createRememberedAnswers(parts: {
  store: Pick<Store, 'claimAnswer' | 'keepAnswer'>
  secretBox: Pick<SecretBox, 'seal' | 'open'>
  newRunId: () => string
  clock: Clock
  logger: Logger
}): RememberedAnswers {
  const { store, secretBox, newRunId, clock, logger } = parts
  let runId: string | null = null
  const underWay = new Map<string, { fingerprint: string; answer: Promise<KeyedAnswer> }>()

  return {
    async once(request, perform) {
      const name = `${request.scope}\n${request.key}`
      for (;;) {
        const other = underWay.get(name)
        if (other === undefined) break
        refuseOther(request, other.fingerprint)
        const answer = await other.answer.catch(() => null)
        if (answer?.isFinal === true) return { text: answer.text, isReplayed: true }
        // The first did not come through: one of those who waited is the first now.
      }
      const replay: { text: string | null } = { text: null }
      const answer = performOnce(request, perform, replay)
      underWay.set(name, { fingerprint: request.fingerprint, answer })
      try {
        const { text } = await answer
        return { text, isReplayed: replay.text !== null }
      } finally {
        underWay.delete(name)
      }
    }
  }

  async function performOnce(
    request: KeyedRequest,
    perform: () => Promise<KeyedAnswer>,
    replay: { text: string | null }
  ): Promise<KeyedAnswer> {
    const { scope, key, fingerprint } = request
    runId ??= newRunId()
    const nowMs = clock.nowMs()
    const claim = { scope, key, fingerprint, begunBy: runId, nowMs, expiresAtMs: nowMs + REMEMBERED_MS }
    const earlier = await store.claimAnswer(claim)
    if (earlier !== null) {
      refuseOther(request, earlier.fingerprint)
      if (earlier.answer !== null) {
        replay.text = await secretBox.open(earlier.answer)
        return { text: replay.text, isFinal: true }
      }
      // Nobody of this run is at work on it. One of this run that could not be written down is known to have come to nothing.
      if (earlier.begunBy !== runId && !request.isRepeatable) {
        throw new ScrapdeckError(
          'IDEMPOTENCY_CUT_OFF',
          'Scrapdeck was stopped while it did this for the first time, so it may have been done or not. Look, and ask with a new key if it was not.'
        )
      }
    }
    let answer: KeyedAnswer
    try {
      answer = await perform()
    } catch (error) {
      await store.keepAnswer(scope, key, null)
      throw error
    }
    try {
      await store.keepAnswer(scope, key, answer.isFinal ? await secretBox.seal(answer.text) : null)
    } catch (error) {
      // What was asked for is done: its answer must not become a failure because it cannot be remembered.
      logger.error({ error }, 'The answer to a request with a key of its own could not be kept')
    }
    return answer
  }
}

function refuseOther(request: KeyedRequest, fingerprint: string): void {
  if (fingerprint === request.fingerprint) return
  throw new ScrapdeckError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key came with another request before; nothing was done. Use a new key for each new request.'
  )
}
