import { createServer, type Server } from 'node:http'
import { TIME_LIMITS } from './connections.ts'
import { createHostRule } from './auth/host-rule.ts'
import { hasSeveralHosts } from './auth/request-rule.ts'

export interface RedirectOptions {
  bindAddress: string
  /** The port of this server. This is a function, because port 0 is resolved later. */
  port: () => number
  httpsPort: () => number
  allowedHosts: readonly string[]
}

interface Answer {
  status: 308 | 400 | 403 | 421
  location?: string
  text: string
}

/**
 * Redirects only to names of this service, so this is not an open redirect. Redirects only GET and HEAD. With other
 * methods, a client would not notice that it sent its password unencrypted.
 */
export function createRedirect(
  options: RedirectOptions
): (request: { method?: string | undefined; url?: string | undefined; host: string | undefined }) => Answer {
  const names = options.allowedHosts.map((host) => host.toLowerCase())
  const isOurHost = createHostRule({ ...options, allowedHosts: [...names, ...names.map(withoutPort)] })
  return ({ method, url = '', host }) => {
    if (host === undefined || !isOurHost(host)) {
      return { status: 421, text: 'Scrapdeck does not accept this host name. Use one of allowed_hosts, with https.' }
    }
    if (method !== 'GET' && method !== 'HEAD') {
      const text = 'This is plain HTTP, where everybody can read passwords. Change the address of this client to https.'
      return { status: 403, text }
    }
    if (!url.startsWith('/')) return { status: 400, text: 'The request must name a path. Use https.' }
    const name = withoutPort(host.toLowerCase())
    const withPort = names.find((one) => one !== name && withoutPort(one) === name)
    const port = options.httpsPort()
    const location = `https://${withPort ?? (port === 443 ? name : `${name}:${port}`)}${url}`
    return { status: 308, location, text: `Use ${location}` }
  }
}

/**
 * Creates a server that only redirects. Closes each connection, because the client sends its next request to the HTTPS
 * port.
 */
export function createRedirectServer(options: RedirectOptions): Server {
  const redirect = createRedirect(options)
  return createServer(TIME_LIMITS, (request, response) => {
    const { method, url, headers } = request
    const { status, location, text } = hasSeveralHosts(request.rawHeaders)
      ? { status: 400, location: undefined, text: 'The request has more than one Host header.' }
      : redirect({ method, url, host: headers.host })
    response.writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      connection: 'close',
      ...(location !== undefined && { location })
    })
    response.end(method === 'HEAD' ? undefined : `${text}\n`)
  })
}

const withoutPort = (host: string) => host.replace(/:\d+$/, '')
