import type { IncomingHttpHeaders } from 'node:http'
import { ScrapdeckError } from '../../shared/errors.ts'

/**
 * Rejects requests that a web page of another origin made a browser send, whatever cookie or password is attached: a
 * foreign Host (rebinding), a foreign Origin, or a fetch the browser marks as cross-site. Throws FORBIDDEN_ORIGIN.
 */
export function checkRequestOrigin(
  headers: IncomingHttpHeaders,
  isOurHost: (host: string | undefined) => boolean
): void {
  if (!isOurHost(headers.host)) {
    throw new ScrapdeckError(
      'FORBIDDEN_ORIGIN',
      `Scrapdeck does not accept the host name "${headers.host ?? ''}". If the name is right, start Scrapdeck with --allowed-host ${headers.host ?? 'NAME'}.`
    )
  }
  const site = headers['sec-fetch-site']
  // `same-site` is not enough: another port on localhost is the same site.
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new ScrapdeckError(
      'FORBIDDEN_ORIGIN',
      'Scrapdeck does not accept requests made by other web pages. To open it, type its address.'
    )
  }
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host as string)) {
    throw new ScrapdeckError(
      'FORBIDDEN_ORIGIN',
      `Scrapdeck does not accept requests from web pages of ${headers.origin}.`
    )
  }
}

/** Assumes the page's scheme: behind a proxy the page uses https but we see http. */
function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  if (page.protocol !== 'http:' && page.protocol !== 'https:') return false
  const ours = `${page.protocol}//${host}`
  return URL.canParse(ours) && new URL(ours).host === page.host
}
