import { randomUUID } from 'node:crypto'
import { type SignedIn, signInWithBrowser } from '../../remote/sign-in/sign-in.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { RemoteConnection } from './connection.ts'

/** Signed in, and not used for an engine of the list yet. */
const TICKETS_MAX = 20

/** Tokens of people who have just signed in with their browser, each for one address and one use. */
export class BrowserSignIns {
  readonly #openInBrowser: (url: string) => void
  readonly #byTicket = new Map<string, SignedIn & { url: string }>()

  constructor(openInBrowser: (url: string) => void) {
    this.#openInBrowser = openInBrowser
  }

  /** Resolves when somebody has allowed it. Rejects with what is wrong, or when `signal` ends it. */
  async begin(url: string, connection: RemoteConnection, signal: AbortSignal) {
    const service = {
      address: url,
      post: async (...call: Parameters<RemoteConnection['post']>) => {
        try {
          return await connection.post(...call)
        } catch (error) {
          throw signal.aborted ? error : await connection.explain(error)
        }
      }
    }
    const signedIn = await signInWithBrowser(service, {
      ...{ client: 'desktop', openBrowser: this.#openInBrowser, signal }
    })
    const ticket = randomUUID()
    const [oldest] = this.#byTicket.keys()
    if (this.#byTicket.size >= TICKETS_MAX) this.#byTicket.delete(oldest!)
    this.#byTicket.set(ticket, { ...signedIn, url })
    const { userName, role, expiresAtMs } = signedIn
    return { ticket, userName, role, expiresAtMs }
  }

  /** Throws BAD_INPUT if it was used, or is for another address. */
  redeem(ticket: string, url: string): SignedIn {
    const found = this.#byTicket.get(ticket)
    this.#byTicket.delete(ticket)
    if (found?.url === url) return found
    throw new ScrapdeckError('BAD_INPUT', `This sign-in is not one to ${url}. Sign in again.`)
  }
}
