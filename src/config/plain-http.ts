import { isLoopback } from '../server/auth/host-rule.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import type { ServeOptions } from './serve-options.ts'

type Transport = Pick<ServeOptions, 'bindAddress' | 'port' | 'tls' | 'behindProxy' | 'allowPlainHttp'>

/**
 * The address beyond this machine on which the service would speak plain HTTP to anybody; null: there is none. Behind a
 * proxy, the proxy speaks TLS. Pure.
 */
export function plainHttpOn({ bindAddress, port, tls, behindProxy }: Omit<Transport, 'allowPlainHttp'>): string | null {
  return port === null || tls !== null || behindProxy || isLoopback(bindAddress) ? null : bindAddress
}

/** Throws PLAIN_HTTP_REFUSED if passwords could be intercepted and no option accepts that. */
export function refusePlainHttp(options: Transport): void {
  const address = plainHttpOn(options)
  if (address === null || options.allowPlainHttp) return
  throw new ScrapdeckError(
    'PLAIN_HTTP_REFUSED',
    `Scrapdeck would speak plain HTTP on ${address}, which other machines can reach, so passwords could be intercepted. Set tls_certificate and tls_key (or tls_self_made = on, for a certificate that it makes itself), put a proxy with TLS in front and set behind_proxy = on, or accept the risk with allow_plain_http = on (--allow-plain-http).`
  )
}
