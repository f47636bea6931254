import { Buffer } from 'node:buffer'
import { request as sendRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { TEST_CREDENTIALS } from '../support/service.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'

export const AUTHORIZATION = basicAuthorization(TEST_CREDENTIALS)

export interface Sent {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  anonymous?: boolean
}

export interface Got {
  /** 0 means that the connection was closed without a response. */
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
  bytes: number
}

const KEPT_BYTES = 100_000
const ANSWER_LIMIT_MS = 30_000

export interface Attacker {
  address: string
  /** The Host header that the service accepts. With another one, it refuses the request before reading it. */
  host: string
  /** Sends one request on its own connection. Rejects if no response arrives within half a minute. */
  send(sent: Sent): Promise<Got>
  sendJson(path: string, body: unknown, headers?: Record<string, string>): Promise<Got>
  /** Sends the bytes unchanged. Resolves to the bytes received until the connection closed or `forMs` passed. */
  sendRaw(bytes: string | Buffer, forMs: number): Promise<string>
  open(): Promise<Socket>
}

/**
 * Codes that start with HPE_ mean that a HEAD request got a response with a body, because the request's head was too
 * large for the server to read the method.
 */
const isCutOff = ({ code = '' }: NodeJS.ErrnoException) =>
  code === 'ECONNRESET' || code === 'EPIPE' || code.startsWith('HPE_')

export function createAttacker(address: string): Attacker {
  const { host, hostname, port } = new URL(address)
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.once('connect', () => {
        socket.off('error', reject)
        socket.on('error', () => socket.destroy())
        resolve(socket)
      })
      socket.once('error', reject)
    })
  const send = ({ method = 'GET', path, headers = {}, body, anonymous = false }: Sent) =>
    new Promise<Got>((resolve, reject) => {
      const bytes = body === undefined ? null : Buffer.from(body as string)
      const sent = sendRequest(
        {
          hostname,
          port,
          method,
          path,
          agent: false,
          timeout: ANSWER_LIMIT_MS,
          headers: {
            ...(anonymous ? {} : { authorization: AUTHORIZATION }),
            ...(bytes === null ? {} : { 'content-length': String(bytes.length) }),
            ...headers
          }
        },
        (response) => {
          const kept: Buffer[] = []
          let count = 0
          const finish = () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes: count,
              body: Buffer.concat(kept).toString()
            })
          response.on('data', (piece: Buffer) => {
            if (count < KEPT_BYTES) kept.push(piece)
            count += piece.length
          })
          response.on('end', finish)
          response.on('error', finish)
        }
      )
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${ANSWER_LIMIT_MS / 1000} s`)))
      sent.on('error', (error: NodeJS.ErrnoException) =>
        isCutOff(error) ? resolve({ status: 0, headers: {}, body: '', bytes: 0 }) : reject(error)
      )
      sent.end(bytes ?? undefined)
    })
  return {
    address,
    host,
    send,
    open,
    sendJson: (path, body, headers = {}) =>
      send({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body)
      }),
    async sendRaw(bytes, forMs) {
      const socket = await open()
      let got = ''
      socket.setEncoding('latin1')
      socket.on('data', (piece) => (got = (got + String(piece)).slice(0, KEPT_BYTES)))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.write(bytes)
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, forMs))])
      socket.destroy()
      return got
    }
  }
}
