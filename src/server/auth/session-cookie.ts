/**
 * `login` means that a login at an identity provider has started, and the same browser must return from there.
 * `step` means that one step of a login is done: the password was right, or a passkey was requested.
 */
export type CookieUse = 'session' | 'login' | 'step'

/**
 * Browsers send cookies to all ports of a host, so the name contains the port to keep two Scrapdecks apart. Behind
 * TLS, `__Host-` makes browsers reject a cookie from another host of the domain, or from a page without TLS.
 */
export function cookieName(use: CookieUse, host: string, isSecure: boolean): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return `${isSecure ? '__Host-' : ''}scrapdeck_${use}${port === undefined ? '' : `_${port}`}`
}

/**
 * Returns all values of this name. A page on another port can add one, which even comes first if its path is
 * longer. Reading only one value, as most parsers do, would let that page lock users out.
 */
export function readCookies(name: string, cookieHeader = ''): string[] {
  const prefix = `${name}=`
  const parts = cookieHeader.split(';').map((part) => part.trim())
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
}

/**
 * The value for `Set-Cookie`. `value` contains letters, digits, `_`, `-` and `.`. If `maxAgeSeconds` is 0, deletes
 * the cookie. With `Lax`, users who follow a link from another site, or return from an identity provider, are still
 * logged in. It is as safe as `Strict` here, because request-rule.ts rejects all other requests from other sites,
 * and even those from other ports of localhost, for which browsers send both kinds.
 */
export function setCookie(
  name: string,
  value: string,
  { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean }
): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly${isSecure ? '; Secure' : ''}; SameSite=Lax`
}
