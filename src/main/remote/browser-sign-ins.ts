import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../engine/runtime/clock.ts'
import { type SignedIn, type SignInService, signInWithBrowser, signInWithCode } from '../../remote/sign-in/sign-in.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import { splitAddress } from '../../shared/ssh-address.ts'
import type { RemoteConnection } from './connection.ts'
import { openSignInRelay } from './sign-in-relay.ts'

/** The maximum number of tokens that sign-ins have returned but no listed engine uses yet. */
const TICKETS_MAX = 20

/** The engine that the user signs in to. `url` has no trailing slash. */
interface SignInTo {
  name: string
  url: string
}

/** Tokens of users who have just signed in with a browser. Each is for one address and one use. */
export class BrowserSignIns {
  readonly #openInBrowser: (url: string) => void
  readonly #clock: Clock
  readonly #byTicket = new Map<string, SignedIn & { url: string }>()

  constructor({ openInBrowser, clock }: { openInBrowser: (url: string) => void; clock: Clock }) {
    this.#openInBrowser = openInBrowser
    this.#clock = clock
  }

  /**
   * Resolves when the user has approved the sign-in in the browser. Until then, the browser can reach an engine behind
   * an SSH host. Rejects with the problem, or when `signal` aborts.
   */
  async begin({ name, url }: SignInTo, connection: RemoteConnection, signal: AbortSignal) {
    const { ssh, inner } = splitAddress(url)
    const options = { name, inner: new URL(inner), connection }
    await using relay = ssh === null ? null : await openSignInRelay(options)
    const openBrowser = (page: string) => {
      this.#openInBrowser(relay === null ? page : relay.entranceTo(page))
    }
    const ending = AbortSignal.any([signal, ...(relay === null ? [] : [relay.signal])])
    try {
      const service = serviceAt(inner, connection)
      return this.#keep(await signInWithBrowser(service, { client: 'desktop', openBrowser, signal: ending }), url)
    } catch (error) {
      throw signal.aborted ? cancelled(error) : error
    }
  }

  /** Yields the code and the page where the user enters it in any browser. Then yields the result of `begin`. */
  async *beginWithCode({ url }: SignInTo, connection: RemoteConnection, given: AbortSignal) {
    const leaving = new AbortController()
    const signal = AbortSignal.any([given, leaving.signal])
    const shown = Promise.withResolvers<{ page: string; userCode: string }>()
    const signingIn = signInWithCode(serviceAt(splitAddress(url).inner, connection), {
      client: 'desktop',
      signal,
      sleep: (ms) => sleep(this.#clock, ms, signal),
      show: (page, userCode) => shown.resolve({ page, userCode })
    })
    signingIn.catch(shown.reject)
    try {
      yield { is: 'waiting' as const, ...(await shown.promise) }
      yield { is: 'signedIn' as const, ...this.#keep(await signingIn, url) }
    } catch (error) {
      throw given.aborted ? cancelled(error) : error
    } finally {
      leaving.abort()
    }
  }

  /** Throws BAD_INPUT if the ticket was already used or is for another address. */
  redeem(ticket: string, url: string): SignedIn {
    const found = this.#byTicket.get(ticket)
    this.#byTicket.delete(ticket)
    if (found?.url === url) return found
    throw new ScrapdeckError('BAD_INPUT', sentence('desktop.sign_in_of_another_engine', { url }))
  }

  #keep(signedIn: SignedIn, url: string) {
    const ticket = randomUUID()
    const [oldest] = this.#byTicket.keys()
    if (this.#byTicket.size >= TICKETS_MAX) this.#byTicket.delete(oldest!)
    this.#byTicket.set(ticket, { ...signedIn, url })
    const { userName, role, expiresAtMs } = signedIn
    return { ticket, userName, role, expiresAtMs }
  }
}

const serviceAt = (address: string, connection: RemoteConnection): SignInService => ({
  address,
  async post(...call) {
    try {
      return await connection.post(...call)
    } catch (error) {
      throw await connection.explain(error)
    }
  }
})

const cancelled = (cause: unknown) =>
  new ScrapdeckError('SIGN_IN_FAILED', sentence('desktop.sign_in_cancelled'), { cause })
