import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'

type Key = JWK & { kid: string }

export interface Person {
  sub: string
  name: string
  groups: string[]
}

export const CLIENT_ID = 'scrapdeck'
export const CLIENT_SECRET = 'a-secret-of-the-client'

async function makeKey(kid: string): Promise<Key> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }
}

/** Runs a real OpenID provider. Users sign in by entering their id. The caller must stop it. */
export async function openIdentityProvider({
  people,
  redirectUris,
  configuration = {}
}: {
  people: Person[]
  redirectUris: string[]
  configuration?: Configuration
}) {
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let key = await makeKey('first')
  const byId = new Map(people.map((person) => [person.sub, person]))
  const open = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: redirectUris,
          backchannel_logout_uri: new URL('/ui/login/oidc/logout', redirectUris[0]).href,
          backchannel_logout_session_required: true,
          post_logout_redirect_uris: redirectUris.map((uri) => new URL('/ui/login', uri).href)
        }
      ],
      jwks: { keys: [key] },
      claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
      features: {
        devInteractions: { enabled: true },
        rpInitiatedLogout: { enabled: true },
        backchannelLogout: { enabled: true }
      },
      cookies: { keys: ['of this test'] },
      // By default, the provider would not connect to an address on this machine.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, preferred_username: byId.get(id)?.name, groups: byId.get(id)?.groups ?? [] })
      }),
      ...configuration
    })
  let provider = open()
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = provider.callback()
  return {
    issuer,
    people: byId,
    /** Calls `answer` for each request. If `answer` returns false, the provider handles the request. */
    intercept(answer: (request: IncomingMessage, response: ServerResponse) => boolean): void {
      const real = provider.callback()
      handle = (request, response) => answer(request, response) || real(request, response)
    },
    /** Makes the provider sign with a new key and publish only that key. */
    async rotateKeys(kid: string): Promise<void> {
      key = await makeKey(kid)
      provider = open()
      handle = provider.callback()
    },
    async sign(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
      const nowSeconds = Math.floor(Date.now() / 1_000)
      const all = { iss: issuer, aud: 'scrapdeck-api', iat: nowSeconds, exp: nowSeconds + 600, ...claims }
      return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header }).sign(key)
    },
    publicKey: () => ({ n: key.n!, e: key.e!, kid: key.kid }),
    async stop(): Promise<void> {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    }
  }
}

interface Sent {
  method?: string
  body?: URLSearchParams | string
  headers?: Record<string, string>
}

/** A browser that keeps cookies per origin and does not follow redirects automatically. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()

  async go(url: string, options: Sent = {}): Promise<{ status: number; location: string; body: string }> {
    const { origin } = new URL(url)
    const jar = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', ...options, headers: { cookie, ...options.headers } })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name!)
      else jar.set(name!, value!)
    }
    const location = response.headers.get('location')
    return {
      status: response.status,
      body: await response.text(),
      location: location === null ? '' : new URL(location, url).href
    }
  }

  cookiesOf(url: string): Map<string, string> {
    return this.#cookies.get(new URL(url).origin) ?? new Map()
  }

  async signInAt(url: string, person: string, issuer: string): Promise<string> {
    let page = await this.go(url)
    for (let step = 0; step < 10; step++) {
      if (page.location !== '' && !page.location.startsWith(issuer)) return page.location
      if (page.location !== '') page = await this.go(page.location)
      else {
        const [, action] = /action="([^"]+)"/.exec(page.body) ?? []
        if (action === undefined) throw new Error(`The provider says: ${page.body.slice(0, 500)}`)
        const [, prompt] = /name="prompt" value="([^"]+)"/.exec(page.body)!
        const body = new URLSearchParams({ prompt: prompt!, login: person, password: 'any' })
        page = await this.go(new URL(action, issuer).href, { method: 'POST', body })
      }
    }
    throw new Error('The provider does not send the browser back')
  }
}
