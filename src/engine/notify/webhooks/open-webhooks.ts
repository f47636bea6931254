import type { AlertId } from '../../../shared/contract/index.ts'
import { WebhookCommands } from '../../api/commands/webhook-commands.ts'
import type { StoredDelivery, StoredWebhook } from '../../model/records.ts'
import { createAddressGuard } from './addresses.ts'
import { type AlertPlugins, createChannels } from './channels/channels.ts'
import type { AlertCommand } from './channels/command.ts'
import type { ReadEvidence } from './channels/evidence.ts'
import type { Links } from './channels/words.ts'
import { Deliverer } from './deliverer.ts'
import type { SendResult } from './plan-try.ts'
import type { Post } from './post.ts'
import { sendToWebhook } from './send-to-webhook.ts'
import type { Base } from '../../runtime/tools.ts'

/** Delivers events from the outbox: to webhooks over HTTP, to plugins in their threads. */
export function wireWebhooks(
  parts: Base & {
    /** Private networks that webhooks may be sent to. */
    networks: readonly string[]
    post?: Post | undefined
    /** For alert messages: the URL of the app, extra content of e-mails, and the programs that may receive messages. */
    links?: Links
    readEvidence?: ReadEvidence
    commands?: readonly AlertCommand[] | undefined
    plugins: AlertPlugins
    sendToPlugin: (webhook: StoredWebhook, delivery: StoredDelivery) => Promise<SendResult>
  }
) {
  const { clock } = parts
  const guard = createAddressGuard(parts.networks)
  let loading: Promise<Post> | null = null
  // Loaded for the first delivery, with its HTTP client.
  const loadPost = async () => (await import('./post.ts')).createPost({ guard, clock })
  const post: Post = parts.post ?? (async (request) => (await (loading ??= loadPost()))(request))
  const readEnds = async (ids: AlertId[]) =>
    new Map((await parts.store.getAlerts(ids)).flatMap(({ id, resolvedAtMs: at }) => (at === null ? [] : [[id, at]])))
  const channels = createChannels({ ...parts, guard, post, readEnds })
  const deliverer = new Deliverer({
    ...parts,
    send(webhook, delivery) {
      switch (webhook.kind) {
        case 'plugin':
          return parts.sendToPlugin(webhook, delivery)
        case 'channel':
          return channels.send(webhook, delivery)
        case 'webhook':
          return sendToWebhook({ ...parts, post }, webhook, delivery)
      }
    }
  })
  const onChange = () => deliverer.events.emit('changed')
  return {
    deliverer,
    channels,
    post,
    webhookCommands: new WebhookCommands({ ...parts, guard, deliverer, post, onChange })
  }
}
