import type { ServerResponse } from 'node:http'
import type { Principal } from '../../engine/access/principal.ts'
import type { Caller } from './caller.ts'

export type Receiver = Pick<Caller, 'kind' | 'id' | 'principal'>

interface Receiving extends Omit<Receiver, 'id'> {
  responses: Set<ServerResponse>
}

/** Responses that sessions, users and tokens are receiving: one that ends takes its streams and downloads with it. */
export class SessionResponses {
  readonly #byReceiver = new Map<string, Receiving>()

  add({ id, kind, principal }: Receiver, response: ServerResponse): void {
    const responses = this.#byReceiver.get(id)?.responses ?? new Set()
    this.#byReceiver.set(id, { kind, principal, responses: responses.add(response) })
    response.once('close', () => {
      responses.delete(response)
      if (responses.size === 0 && this.#byReceiver.get(id)?.responses === responses) this.#byReceiver.delete(id)
    })
  }

  get hasTokens(): boolean {
    return [...this.#byReceiver.values()].some(({ principal }) => principal?.tokenId != null)
  }

  /** The sessions that are receiving something. */
  sessions(): string[] {
    return [...this.#byReceiver].filter(([, { kind }]) => kind === 'session').map(([id]) => id)
  }

  /** Responses that have not begun are left alone: one of them answers the request that ended the session. */
  cut(id: string): void {
    for (const response of this.#byReceiver.get(id)?.responses ?? []) if (response.headersSent) response.destroy()
  }

  /** Cuts off those who may not receive any more. */
  cutUnless(isCurrent: (receiver: Receiver, principal: Principal) => boolean): void {
    for (const [id, { principal, kind }] of this.#byReceiver) {
      if (principal !== null && !isCurrent({ id, kind, principal }, principal)) this.cut(id)
    }
  }
}
