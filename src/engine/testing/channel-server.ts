import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AlertChannelId, AlertTarget, SealedText } from '../../shared/contract/index.ts'
import { systemClock } from '../runtime/clock.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { StoredWebhook } from '../model/records.ts'
import { createAddressGuard } from '../notify/deliveries/addresses.ts'
import { createChannels, type ChannelsParts } from '../notify/deliveries/channels/channels.ts'
import { createPost } from '../notify/deliveries/post.ts'

export interface SeenRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  json: never
}

export interface ScriptedAnswer {
  status: number
  headers?: Record<string, string>
  body?: string
}

export async function openChannelServer(answers: ScriptedAnswer[] | ((request: SeenRequest) => ScriptedAnswer)) {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one: SeenRequest = { method, path, headers, body, json: JSON.parse(body) as never }
      seen.push(one)
      const answer = typeof answers === 'function' ? answers(one) : (answers.shift() ?? { status: 500 })
      response.writeHead(answer.status, answer.headers).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

export const openBox: SecretBox = {
  store: 'file',
  description: 'none',
  seal: async (text) => text as SealedText,
  open: async (sealed) => sealed
}

/** Opens channels that may send to this machine. */
export function openChannels(over: Partial<ChannelsParts> = {}) {
  const guard = createAddressGuard(['127.0.0.1'])
  const post = createPost({ guard, clock: systemClock })
  return createChannels({ secretBox: openBox, clock: systemClock, guard, post, links: LINKS, ...over })
}

export const LINKS = { base: 'https://deck.example.org' }

export const aChannel = (target: AlertTarget, secret: string | null = null): StoredWebhook => ({
  id: 'f'.repeat(32) as AlertChannelId,
  kind: 'channel',
  name: 'On call',
  url: '',
  events: [],
  project: null,
  enabled: true,
  createdAtMs: 0,
  sealedSecret: secret as SealedText | null,
  sealedOldSecret: null,
  oldSecretUntilMs: null,
  channel: { target, quiet: null },
  lastDeliveredAtMs: null,
  problem: null,
  waiting: 0,
  dead: 0,
  dropped: 0
})
