import { timingSafeEqual } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { escapeHtml } from '../../server/html.ts'
import { SMALL_PAGE_POLICY, smallPage } from '../../server/small-page.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'

export interface Loopback extends AsyncDisposable {
  redirectUri: string
  /**
   * Calls `exchange` with the code from the browser and resolves with its result, which the page also shows. Rejects
   * with SIGN_IN_FAILED if the sign-in was denied, or with the abort reason of `signal`.
   */
  answer<T>(signal: AbortSignal, exchange: (code: string) => Promise<T>): Promise<T>
}

/** Opens a port on 127.0.0.1, to which the browser returns the code of the sign-in with this state. */
export async function openLoopback(state: string): Promise<Loopback> {
  const answered = Promise.withResolvers<{ query: URLSearchParams; page: ServerResponse }>()
  const server = createServer({ maxHeaderSize: 8_192, requestTimeout: 10_000 }, (request, response) => {
    const url = URL.parse(request.url ?? '', redirectUri)
    // Pages from other hosts can send requests to this port. Without the state, they change nothing.
    const isOurs = request.method === 'GET' && request.headers.host === host && url?.pathname === '/callback'
    if (!isOurs || !isSame(url.searchParams.get('state') ?? '', state)) {
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('There is nothing here.\n')
    }
    answered.resolve({ query: url.searchParams, page: response })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const redirectUri = `http://${host}/callback`
  return {
    redirectUri,
    async answer(signal, exchange) {
      const aborted = Promise.withResolvers<never>()
      const onAbort = () => aborted.reject(signal.reason)
      signal.throwIfAborted()
      signal.addEventListener('abort', onAbort, { once: true })
      try {
        const { query, page } = await Promise.race([answered.promise, aborted.promise])
        const code = query.get('code')
        try {
          if (code === null) {
            throw new ScrapdeckError('SIGN_IN_FAILED', sentence('cli.sign_in_denied'))
          }
          const result = await exchange(code.slice(0, 200))
          await sendPage(page, 'Signed in', 'You can close this window and go back to where you started.')
          return result
        } catch (error) {
          await sendPage(page, 'Not signed in', error instanceof ScrapdeckError ? error.message : 'Start again.')
          throw error
        }
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    }
  }
}

export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Resolves when the browser has received the page, or has disconnected. `link`: a button below the text. */
export function sendPage(
  response: ServerResponse,
  title: string,
  text: string,
  { status = 200, link }: { status?: number; link?: { href: string; label: string } } = {}
): Promise<void> {
  const button =
    link === undefined ? '' : `\n<a class="button" href="${escapeHtml(link.href)}">${escapeHtml(link.label)}</a>`
  const body = smallPage({ title, body: `<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(text)}</p>${button}` })
  return new Promise((resolve) => {
    response.once('close', resolve)
    response
      .writeHead(status, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': SMALL_PAGE_POLICY,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        connection: 'close'
      })
      .end(body, () => resolve())
  })
}
