import type { Clock } from '../../runtime/clock.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { StoredWebhook } from '../../model/records.ts'
import type { SendResult } from './plan-try.ts'
import type { Post } from './post.ts'
import { signedHeaders } from './signature.ts'

const GONE = 410

/** Signs a message with the webhook's secret, and with the previous secret while it is valid. Never rejects. */
export async function sendToWebhook(
  parts: { clock: Clock; secretBox: SecretBox; post: Post },
  webhook: StoredWebhook,
  message: { id: string; body: string }
): Promise<SendResult> {
  const atMs = parts.clock.nowMs()
  const { sealedSecret, sealedOldSecret, oldSecretUntilMs, url } = webhook
  const holds = sealedOldSecret !== null && (oldSecretUntilMs ?? 0) > atMs
  const sealed = [sealedSecret, holds ? sealedOldSecret : null].filter((one) => one !== null)
  let secrets: string[]
  try {
    secrets = await Promise.all(sealed.map((one) => parts.secretBox.open(one)))
  } catch {
    // The secret box's own message is about node passwords, so we replace it here.
    return { isGood: false, answer: 'Its secret cannot be decrypted with the current key: create a new one' }
  }
  const answer = await parts.post({ url, headers: signedHeaders({ ...message, atMs, secrets }), body: message.body })
  if (answer.kind !== 'status') return { isGood: false, answer: answer.problem }
  const { status, retryAfterSeconds } = answer
  return {
    isGood: status >= 200 && status < 300,
    answer: status >= 300 && status < 400 ? `${status}: redirects are not followed` : String(status),
    retryAfterSeconds,
    isGone: status === GONE
  }
}
