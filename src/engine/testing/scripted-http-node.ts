import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

interface ScriptedRequest {
  method: string
  /** Includes the query, percent-encoded as received. */
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

export type Script = (request: ScriptedRequest, response: ServerResponse, socket: Socket) => void | Promise<void>

/** An HTTP node that responds as scripted by a test. Closing it closes all connections, including half-open ones. */
export async function startScriptedHttpNode(script: Script) {
  const requests: ScriptedRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: Error) => incoming.destroy(error))
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    port,
    requests,
    connectionCount: () => sockets.size,
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      if (server.listening) await once(server, 'close')
    }
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const { method = '', url: path = '', headers } = incoming
    const request = { method, path, headers, body: Buffer.concat(pieces) }
    requests.push(request)
    await script(request, response, incoming.socket)
  }
}

/** Responds to every request with this object, like Scrapyd: 200 and JSON, `status: "ok"` by default. */
export function answerJson(fields: Record<string, unknown>): Script {
  return (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(`${JSON.stringify({ status: 'ok', node_name: 'fake', ...fields })}\n`)
  }
}
