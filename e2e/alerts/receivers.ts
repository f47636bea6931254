import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import type { AlertNews } from '../../src/shared/contract/index.ts'

export interface Received {
  /** Identical in every copy of a message. */
  id: string
  title: string
  text?: string
  /** Whether the receiver accepted it. A message whose connection was cut before a response arrives again. */
  isTaken: boolean
}

export interface Receiver {
  port: number
  received: Received[]
  /** While true, the receiver reads messages but does not respond. */
  isHolding: boolean
  stop(): Promise<void>
}

export async function startMailServer(): Promise<Receiver> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    // Closes quickly, because the clients may have been killed.
    closeTimeout: 100,
    onData(stream, _session, callback) {
      void buffer(stream).then(async (source) => {
        const { messageId: id = '', subject: title = '', text = '' } = await PostalMime.parse(source)
        const isTaken = !receiver.isHolding
        receiver.received.push({ id, title, text, isTaken })
        if (isTaken) callback(null, 'queued')
      })
    }
  })
  // Killed clients leave without QUIT.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    port: (server.server.address() as AddressInfo).port,
    received: [],
    isHolding: false,
    stop: () => new Promise((resolve) => server.close(() => resolve()))
  }
  return receiver
}

/** Accepts signed messages. Rejects badly signed ones with 401 and counts them only in `unsigned`. */
export async function startHookServer(secret: () => string): Promise<Receiver & { unsigned: number }> {
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      const id = String(request.headers['webhook-id'])
      const key = Buffer.from(secret().replace('whsec_', ''), 'base64')
      const signed = `${id}.${String(request.headers['webhook-timestamp'])}.${body}`
      const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
      if (request.headers['webhook-signature'] !== signature) {
        receiver.unsigned += 1
        return response.writeHead(401).end()
      }
      const { data } = JSON.parse(body) as { data: AlertNews }
      const isTaken = !receiver.isHolding
      receiver.received.push({ id, title: titleOf(data), isTaken })
      if (isTaken) response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver = {
    port: (server.address() as AddressInfo).port,
    received: [] as Received[],
    isHolding: false,
    unsigned: 0,
    async stop() {
      server.closeAllConnections()
      server.close()
    }
  }
  return receiver
}

const titleOf = ({ firing, title }: AlertNews): string => `${firing.length > 0 ? 'Firing' : 'Resolved'}: ${title}`
