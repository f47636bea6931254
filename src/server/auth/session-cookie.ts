/** `login`: the browser is signing in at an identity provider. `step`: a login still needs its next step. */
export type CookieUse = 'session' | 'login' | 'step'

/**
 * Browsers send cookies to all ports of a host, so the name contains the port to keep two Scrapdecks apart. Behind TLS,
 * `__Host-` makes browsers reject a cookie from another host of the domain or without TLS.
 */
export function cookieName(use: CookieUse, host: string, isSecure: boolean): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return `${isSecure ? '__Host-' : ''}scrapdeck_${use}${port === undefined ? '' : `_${port}`}`
}

/**
 * Returns all values of this name. A page on another port can add a cookie, even in front of ours. If we read only one
 * value, as most parsers do, that page could lock users out.
 */
export function readCookies(name: string, cookieHeader = ''): string[] {
  const prefix = `${name}=`
  const parts = cookieHeader.split(';').map((part) => part.trim())
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
}

/**
 * The value for `Set-Cookie`. `maxAgeSeconds` 0 deletes the cookie. With `Lax`, users who follow a link from another
 * site, or return from an identity provider, are still logged in. It is as safe as `Strict`, because request-rule.ts
 * rejects all other requests from other sites and even from other ports of localhost.
 */
export function setCookie(
  name: string,
  value: string,
  { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean }
): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly${isSecure ? '; Secure' : ''}; SameSite=Lax`
}
