import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Agent, request as send } from 'undici'

/**
 * A proxy between Scrapdeck and the API server, with the server's certificate. Loses responses to POSTs that
 * arrived, sends a POST twice, answers a continued list with 410, answers 503, and makes watches hang.
 */
export async function startFaultyProxy({ target, directory }: { target: string; directory: string }) {
  const file = (name: string) => readFileSync(join(directory, name), 'utf8')
  const agent = new Agent({ connect: { ca: file('api.crt') }, bodyTimeout: 0, headersTimeout: 0 })
  const counts = { lostAnswer: 0, sentTwice: 0, gone: 0, unavailable: 0, hungWatch: 0 }
  let isFaulty = false
  const watches = new Set<ServerResponse>()
  /** Ends all watches. A watch lasts minutes, and faults affect only new watches. */
  const endWatches = () => {
    for (const response of watches) response.destroy()
  }
  let posts = 0
  let lists = 0
  const server = createServer({ cert: file('api.crt'), key: file('api.key') }, (request, response) => {
    void answer().catch(() => response.destroy())

    async function answer(): Promise<void> {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
      const stop = new AbortController()
      response.on('close', () => stop.abort())
      const pass = () =>
        send(`${target}${request.url}`, {
          method: request.method as 'GET',
          headers,
          body: pieces.length === 0 ? null : Buffer.concat(pieces),
          dispatcher: agent,
          signal: stop.signal
        })
      const isCreation = request.method === 'POST' && /\/(jobs|secrets)\?/.test(request.url ?? '')
      const isWatch = /watch=1/.test(request.url ?? '')
      const isList = request.method === 'GET' && /limit=/.test(request.url ?? '') && !isWatch
      if (isWatch) {
        watches.add(response)
        response.on('close', () => watches.delete(response))
      }
      if (isFaulty) {
        if (isCreation) {
          posts += 1
          if (posts % 3 === 1) {
            counts.lostAnswer += 1
            const { body } = await pass()
            await body.dump()
            response.destroy()
            return
          }
          if (posts % 3 === 2) {
            counts.sentTwice += 1
            const { body } = await pass()
            await body.dump()
          }
        }
        if (isList) {
          lists += 1
          if (lists % 5 === 0) {
            counts.gone += 1
            const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 }
            response.writeHead(410, { 'content-type': 'application/json' }).end(JSON.stringify(status))
            return
          }
          if (lists % 7 === 0) {
            counts.unavailable += 1
            response.writeHead(503, { 'content-type': 'text/plain' }).end('no backend')
            return
          }
        }
        if (isWatch) {
          counts.hungWatch += 1
          response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
          return
        }
      }
      const passed = await pass()
      response.writeHead(passed.statusCode, passed.headers as never)
      for await (const piece of passed.body) response.write(piece)
      response.end()
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    counts,
    begin() {
      isFaulty = true
      endWatches()
    },
    end() {
      isFaulty = false
      endWatches()
    },
    address: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await agent.destroy()
    }
  }
}
