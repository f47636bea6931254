import { lookup } from 'node:dns'
import { isIP } from 'node:net'
import { buildConnector, Client } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { encodingProblem, PLAIN_BODIES } from '../../runtime/plain-bodies.ts'
import { sentence } from '../../../shared/texts/errors/notify.ts'
import { type AddressGuard, hostOf } from './addresses.ts'
import { guardedLookup } from './guarded-lookup.ts'

export type Answer =
  | {
      kind: 'status'
      status: number
      retryAfterSeconds: number | null
      /** The start of the body, if `readsText` is set. */
      text?: string
    }
  | { kind: 'failed'; problem: string }
  /** No connection was opened. */
  | { kind: 'forbidden'; problem: string }

/** Never rejects. */
export type Post = (request: {
  url: string
  headers: Record<string, string>
  body: string
  /** Whether to read the start of the response body. Set if the body explains more than the status. */
  readsText?: boolean
}) => Promise<Answer>

const TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 5_000
const TEXT_MAX_BYTES = 4_096
/** Response bodies up to this size are received to the end and discarded, so that the exchange ends cleanly. */
const BODY_MAX_BYTES = 65_536

/**
 * Uses a new connection for each POST, because a kept-alive connection would ignore DNS changes. The connection's
 * own lookup checks addresses, so that a name cannot change between check and use (DNS rebinding). Does not follow
 * redirects or use proxies.
 */
export function createPost(parts: { guard: AddressGuard; clock: Clock; resolve?: typeof lookup }): Post {
  const { guard, clock, resolve = lookup } = parts
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(guard, resolve), allowH2: false })

  return ({ url: address, headers, body, readsText = false }) =>
    new Promise((settle) => {
      let url: URL
      try {
        url = guard.checkUrl(address)
      } catch (error) {
        return settle({ kind: 'forbidden', problem: (error as Error).message })
      }
      const client = new Client(url.origin, { connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
      let status: number | null = null
      let retryAfterSeconds: number | null = null
      let receivedBytes = 0
      let text = Buffer.alloc(0)
      const finish = (answer: Answer) => {
        timer.cancel()
        settle(answer)
        client.destroy().catch(() => undefined) // Already destroyed: nothing left to do.
      }
      const statusAnswer = (): Answer => ({
        kind: 'status',
        status: status!,
        retryAfterSeconds,
        ...(readsText && { text: text.toString('utf8') })
      })
      const timer = clock.setTimer(TIMEOUT_MS, () =>
        finish(
          status === null
            ? { kind: 'failed', problem: `${url.host} did not answer within ${TIMEOUT_MS / 1000} s` }
            : statusAnswer()
        )
      )
      try {
        client.dispatch(
          {
            method: 'POST',
            path: url.pathname + url.search,
            headers: {
              ...headers,
              'content-type': 'application/json',
              ...PLAIN_BODIES,
              'user-agent': 'Scrapdeck-Webhooks'
            },
            body
          },
          {
            onRequestStart() {},
            onResponseStart(_controller, code, answered) {
              if (code < 200) return
              const problem = encodingProblem(answered['content-encoding'])
              if (problem !== null) return finish(failed(`${url.host} ${problem}`))
              status = code
              retryAfterSeconds = secondsOf(answered['retry-after'])
            },
            onResponseData(_controller, piece) {
              receivedBytes += piece.length
              const missing = readsText ? TEXT_MAX_BYTES - text.length : 0
              if (missing > 0) text = Buffer.concat([text, piece.subarray(0, missing)])
              if (receivedBytes > BODY_MAX_BYTES) finish(statusAnswer())
            },
            onResponseEnd: () => finish(statusAnswer()),
            onResponseError(_controller, error) {
              finish(status === null ? failureOf(error, url) : statusAnswer())
            }
          }
        )
      } catch (error) {
        finish(failureOf(error, url))
      }
    })
}

/** Reads a header with whole seconds. null: none, or a date, for which the backoff applies instead. */
function secondsOf(value: string | string[] | undefined): number | null {
  return typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : null
}

function failureOf(error: unknown, url: URL): Answer {
  const { code, message } = error as { code?: unknown; message?: string }
  const host = hostOf(url)
  switch (code) {
    case 'FORBIDDEN_ADDRESS':
      return { kind: 'forbidden', problem: sentence('notify.address_is_inside', { host: message ?? host }).text }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return failed(`the name ${host} does not resolve. Correct the address, or check DNS`)
    case 'ECONNREFUSED':
      return failed(`nothing listens on ${url.host}`)
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return failed(`${url.host} did not accept a connection`)
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return failed(`${url.host} closed the connection before it responded`)
  }
  const words = typeof code === 'string' ? code : (message ?? 'unknown error').slice(0, 200)
  if (/CERT|SIGNATURE|ERR_TLS|ISSUER/.test(words)) {
    return failed(`the TLS certificate of ${isIP(host) === 0 ? host : url.host} was rejected (${words})`)
  }
  return failed(`the request to ${url.host} failed (${words})`)
}

function failed(problem: string): Answer {
  return { kind: 'failed', problem }
}
