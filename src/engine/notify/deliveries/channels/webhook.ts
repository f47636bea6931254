import type { Clock } from '../../../runtime/clock.ts'
import type { SecretBox } from '../../../runtime/secret-box.ts'
import type { Post } from '../post.ts'
import { sendToWebhook } from '../send-to-webhook.ts'
import type { Sender } from './message.ts'

export const webhookSender =
  (parts: { clock: Clock; secretBox: SecretBox; post: Post }): Sender<'webhook'> =>
  async ({ target, channel, id, body, say }) => {
    const { origin = '' } = URL.parse(target.url) ?? {}
    say(`> POST ${origin}/… (${Buffer.byteLength(body)} bytes, signed)`)
    const result = await sendToWebhook(parts, { ...channel, url: target.url }, { id, body })
    say(`< ${result.answer}`)
    return result
  }
