import type { AlertId } from '../../../shared/contract/index.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import { stop, type Tools } from '../../runtime/tools.ts'
import type { Store } from '../../storage/store.ts'
import type { Plugins } from '../plugins/plugins.ts'
import { createAddressGuard } from './addresses.ts'
import { createChannels } from './channels/channels.ts'
import type { AlertCommand } from './channels/command.ts'
import type { ReadEvidence } from './channels/evidence.ts'
import { Deliverer } from './deliverer.ts'
import type { Post } from './post.ts'
import { sendToWebhook } from './send-to-webhook.ts'

export interface DeliveryOptions {
  alertCommands?: readonly AlertCommand[]
  /** The URL of the app for links in messages. null: unknown. */
  publicUrl?: string | null
}

interface DeliveriesParts extends Tools {
  store: Store
  secretBox: SecretBox
  /** Private networks that webhooks can be sent to. */
  networks: readonly string[]
  post: Post | undefined
  readEvidence: ReadEvidence
  plugins: Plugins
}

export type Deliveries = ReturnType<typeof openDeliveries>

/** Delivers events from the outbox: to webhooks and alert channels over HTTP, and to plugins in their threads. */
export function openDeliveries(
  opened: AsyncDisposableStack,
  { alertCommands: commands, publicUrl = null }: DeliveryOptions,
  { networks, ...parts }: DeliveriesParts
) {
  const { store, plugins, clock } = parts
  const guard = createAddressGuard(networks)
  let loading: Promise<Post> | null = null
  // The HTTP client is loaded for the first delivery.
  const loadPost = async () => (await import('./post.ts')).createPost({ guard, clock })
  const post: Post = parts.post ?? (async (request) => (await (loading ??= loadPost()))(request))
  const readEnds = async (ids: AlertId[]) =>
    new Map((await store.getAlerts(ids)).flatMap(({ id, resolvedAtMs: at }) => (at === null ? [] : [[id, at]])))
  const channels = createChannels({ ...parts, guard, post, readEnds, commands, links: { base: publicUrl } })
  const deliverer = new Deliverer({
    ...parts,
    send(receiver, delivery) {
      switch (receiver.kind) {
        case 'plugin':
          return plugins.send(receiver, delivery)
        case 'channel':
          return channels.send(receiver, delivery)
        case 'webhook':
          return sendToWebhook({ ...parts, post }, receiver, delivery)
      }
    }
  })
  return { guard, post, channels, deliverer: opened.adopt(deliverer, stop) }
}
