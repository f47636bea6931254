import type { ServerResponse } from 'node:http'

/** Responses that browser sessions are receiving: a session that ends takes its streams and downloads with it. */
export class SessionResponses {
  readonly #bySession = new Map<string, Set<ServerResponse>>()

  add(session: string, response: ServerResponse): void {
    const responses = this.#bySession.get(session) ?? new Set()
    this.#bySession.set(session, responses.add(response))
    response.once('close', () => {
      responses.delete(response)
      if (responses.size === 0 && this.#bySession.get(session) === responses) this.#bySession.delete(session)
    })
  }

  /** The sessions that are receiving something. */
  sessions(): string[] {
    return [...this.#bySession.keys()]
  }

  /** Responses that have not begun are left alone: one of them answers the request that ended the session. */
  cut(session: string): void {
    for (const response of this.#bySession.get(session) ?? []) if (response.headersSent) response.destroy()
  }
}
