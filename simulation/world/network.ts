import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { AnswerHead, Connection, NodeRequest } from '../../src/engine/nodes/scrapyd/connection.ts'
import type { createConnection } from '../../src/engine/nodes/scrapyd/connection.ts'
import { NodeError, type NodeErrorKind } from '../../src/engine/nodes/node-client.ts'
import { say } from '../../src/shared/texts/message.ts'
import { type HttpRequest, plain, serve } from '../scrapyd/http.ts'
import type { HttpAnswer, SimulatedScrapyd } from '../scrapyd/simulated-scrapyd.ts'
import type { Chance } from './chance.ts'
import type { Faults, RequestFault } from './faults.ts'
import { type Life, noAnswer } from './life.ts'
import type { VirtualTime } from './time.ts'

export interface Link {
  chances: Partial<Record<RequestFault, number>>
  /** Whether the node refuses connections. */
  isRefusing: boolean
  /** Whether the node accepts connections but never responds. */
  isSilent: boolean
  /** Whether the node responds to every request with 401. */
  isLocked: boolean
  areLogsSlow: boolean
}

type WholeRequest = Omit<NodeRequest, 'body'> & { body: string | Buffer }

const CONNECTIONS = 4
/**
 * The maximum time until an abandoned request arrives, so that our refresh of the node's lists 5 s later shows the
 * job. Without a maximum, no client of Scrapyd could prove that a job did not arrive.
 */
const LATEST_ARRIVAL_MS = 3_000

/**
 * The transport under the real Scrapyd client (connection.ts), with timeouts by the engine's own clock, delays, and
 * all network faults. Requests in flight still arrive if the engine dies.
 */
export class Network {
  readonly links = new Map<string, Link>()
  areFaultsOn = true
  /** Called when the next job is sent. Returns how long the request takes, in ms. */
  onNextSend: ((host: string) => number) | null = null
  readonly #time: VirtualTime
  readonly #nodes: Map<string, SimulatedScrapyd>
  readonly #chance: Chance
  readonly #faults: Faults
  readonly #wallMs: () => number
  readonly #onAnswer: (host: string, endpoint: string, answer: HttpAnswer, life: Life) => void
  readonly #onRequest: (host: string, endpoint: string, life: Life) => void

  constructor(options: {
    time: VirtualTime
    nodes: Map<string, SimulatedScrapyd>
    chance: Chance
    faults: Faults
    wallMs: () => number
    onAnswer: (host: string, endpoint: string, answer: HttpAnswer, life: Life) => void
    onRequest: (host: string, endpoint: string, life: Life) => void
  }) {
    this.#time = options.time
    this.#nodes = options.nodes
    this.#chance = options.chance
    this.#faults = options.faults
    this.#wallMs = options.wallMs
    this.#onAnswer = options.onAnswer
    this.#onRequest = options.onRequest
  }

  connectFor(life: Life): typeof createConnection {
    return ({ address, name, clock }): Connection => {
      const base = new URL(address.url)
      const host = base.hostname
      const label = `${name} (${base.origin})`
      const fail = (kind: NodeErrorKind, problem: string, delivered: 'no' | 'unknown', cause?: unknown) =>
        new NodeError(kind, say('text', { text: `Node ${label} ${problem}` }), { delivered, cause })
      const running = new Set<(error: NodeError) => void>()
      const waiting: (() => void)[] = []
      let open = 0
      let isClosed = false

      const send: Connection['send'] = ({ body, ...request }, signal) =>
        body instanceof Readable
          ? buffer(body).then((whole) => sendWhole({ ...request, body: whole }, signal))
          : sendWhole({ ...request, body: body ?? '' }, signal)
      const sendWhole = (request: WholeRequest, signal?: AbortSignal): Promise<AnswerHead> => {
        const endpoint = request.path.split('?')[0]!.replace(/^(logs|items)\/.*/, '$1')
        const counted = life.count(`${host} ${endpoint}`)
        if (counted === 'refused') return noAnswer()
        this.#onRequest(host, endpoint, life)
        const heard = (callback: () => void) => (life.isStalled ? life.run(callback) : callback())
        return new Promise((resolve, reject) => {
          let begun = false
          let settled = false
          const settle = (finish: () => void) => {
            if (settled) return
            settled = true
            timer.cancel()
            running.delete(giveUp)
            signal?.removeEventListener('abort', onAbort)
            if (begun) {
              open -= 1
              waiting.shift()?.()
            }
            if (!life.isOver) finish()
          }
          const giveUp = (error: NodeError) => settle(() => reject(error))
          const delivered = () => (begun ? 'unknown' : 'no')
          const onAbort = () => giveUp(fail('aborted', 'timed out.', delivered(), signal?.reason))
          const timer = clock.setTimer(request.timeoutMs, () =>
            giveUp(fail('timeout', `did not answer ${endpoint} within ${request.timeoutMs / 1000} s.`, delivered()))
          )
          if (isClosed) return giveUp(fail('unreachable', 'was not asked: the connection was closed.', 'no'))
          if (signal?.aborted) return onAbort()
          signal?.addEventListener('abort', onAbort, { once: true })
          running.add(giveUp)
          const begin = () => {
            if (settled) return waiting.shift()?.()
            const link = this.#linkOf(host)
            if (link === null || link.isRefusing || this.#strikes(host, 'connection refused', endpoint)) {
              if (link?.isRefusing) this.#faults.note('connection refused', host, endpoint)
              return this.#delay(() =>
                heard(() => giveUp(fail('unreachable', 'cannot be reached: ECONNREFUSED', 'no')))
              )
            }
            begun = true
            open += 1
            this.#carry(host, link, request, endpoint, {
              answer: (answer) =>
                heard(() => {
                  if (settled || life.isOver) return
                  this.#onAnswer(host, endpoint, answer, life)
                  const head = { status: answer.status, headers: answer.headers }
                  const verdict = request.receive(head)(Buffer.from(answer.body))
                  if (verdict === 'too_large')
                    giveUp(fail('too_large', `sent more than ${endpoint} may hold.`, 'unknown'))
                  else settle(() => resolve(head))
                }),
              broken: () =>
                heard(() => giveUp(fail('reset', 'closed the connection before its response was complete.', 'unknown')))
            })
          }
          if (open < CONNECTIONS) begin()
          else waiting.push(begin)
          if (counted === 'last') life.die()
        })
      }
      return {
        label,
        send,
        close: async () => {
          isClosed = true
          for (const giveUp of [...running])
            giveUp(fail('reset', 'was not asked: the connection was closed.', 'unknown'))
        }
      }
    }
  }

  #carry(
    host: string,
    link: Link,
    request: WholeRequest,
    endpoint: string,
    back: { answer: (answer: HttpAnswer) => void; broken: () => void }
  ): void {
    // Truncates and duplicates only JSON. A truncated log would always be detected, because its length is sent with
    // it.
    const isJson = endpoint.endsWith('.json')
    const strikes = (kind: RequestFault) =>
      (isJson || (kind !== 'json cut off' && kind !== 'answered twice')) && this.#strikes(host, kind, endpoint)
    if (link.isSilent) return this.#faults.note('never answered', host, endpoint)
    if (link.isLocked) {
      this.#faults.note('unauthorized', host, endpoint)
      return this.#delay(() => back.answer(plain(401, 'Unauthorized')))
    }
    if (strikes('request lost')) return this.#delay(back.broken)
    if (strikes('never answered')) return
    const isReplyLost = strikes('reply lost')
    const takesEffectTooLate = strikes('took effect too late')
    const isTooLate = !takesEffectTooLate && strikes('answered too late')
    const isHtml = strikes('html with 200')
    const change = this.#changeOfAnswer(strikes)
    const lateMs = request.timeoutMs + this.#chance.between(0, LATEST_ARRIVAL_MS)
    const isSlowLog = endpoint === 'logs' && link.areLogsSlow
    if (isSlowLog) this.#faults.note('logs slow', host)
    const slowMs = isSlowLog ? this.#chance.between(3_000, 25_000) : 0
    const asked: HttpRequest = {
      method: request.method,
      path: `/${request.path}`,
      headers: request.headers ?? {},
      body: request.body
    }
    // Sends a proxy's page instead of the node's response. The node may or may not have received the request.
    if (isHtml && this.#chance.happens(0.5)) return this.#delay(() => back.answer(LOGIN_PAGE))
    const arrive = () => {
      const node = this.#nodes.get(host)!
      const reply = (answer: HttpAnswer) => {
        if (isReplyLost) return back.broken()
        this.#time.after(isTooLate ? lateMs : slowMs + this.#latencyMs(), () =>
          back.answer(isHtml ? LOGIN_PAGE : change(answer))
        )
      }
      node.receive(
        (at) => {
          const wasFreezing = at.isFreezing()
          const served = serve(at, asked, this.#time.nowMs, this.#wallMs(), reply)
          if (wasFreezing && !at.isFreezing()) {
            this.#faults.note('node froze while listing spiders', host, `${endpoint} for ${served.blocksMs} ms`)
          }
          return served
        },
        () => back.broken()
      )
    }
    const underWayMs = endpoint === 'schedule.json' ? this.onNextSend?.(host) : undefined
    if (underWayMs !== undefined) this.onNextSend = null
    this.#time.after(underWayMs ?? (takesEffectTooLate ? lateMs : this.#latencyMs()), arrive)
  }

  #changeOfAnswer(strikes: (kind: RequestFault) => boolean): (answer: HttpAnswer) => HttpAnswer {
    if (strikes('answered twice')) return (answer) => ({ ...answer, body: Buffer.concat([answer.body, answer.body]) })
    if (strikes('json cut off')) {
      const share = this.#chance.next()
      return (answer) => ({ ...answer, body: answer.body.subarray(0, Math.floor(answer.body.length * share)) })
    }
    if (strikes('status 500')) return () => plain(500, '<html>Processing Failed</html>')
    return (answer) => answer
  }

  #strikes(host: string, kind: RequestFault, endpoint: string): boolean {
    const chance = this.#linkOf(host)?.chances[kind] ?? 0
    if (!this.areFaultsOn || chance === 0 || !this.#chance.happens(chance)) return false
    this.#faults.note(kind, host, endpoint)
    return true
  }

  #linkOf(host: string): Link | null {
    return this.links.get(host) ?? null
  }

  #delay(then: () => void): void {
    this.#time.after(this.#latencyMs(), then)
  }

  #latencyMs(): number {
    return this.#chance.between(1, 20)
  }
}

const LOGIN_PAGE = plain(200, '<html><title>Log in</title></html>')

export function aLink(): Link {
  return { chances: {}, isRefusing: false, isSilent: false, isLocked: false, areLogsSlow: false }
}
