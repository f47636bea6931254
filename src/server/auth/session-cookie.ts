/**
 * `login`: a login at an identity provider has begun, and the same browser must return. `step`: a step of a login is
 * done: the password was right, or a passkey was requested.
 */
export type CookieUse = 'session' | 'login' | 'step'

/**
 * Browsers send cookies to all ports of a host, so the port in the name separates the logins of two Scrapdecks. Behind
 * TLS, `__Host-` makes browsers refuse a cookie from another host of the domain, or from a page without TLS.
 */
export function cookieName(use: CookieUse, host: string, isSecure: boolean): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return `${isSecure ? '__Host-' : ''}scrapdeck_${use}${port === undefined ? '' : `_${port}`}`
}

/**
 * All values under a name. A page on another port can add one (for a deeper path it even comes first), so reading only
 * one, as most parsers do, would let that page lock users out.
 */
export function readCookies(name: string, cookieHeader = ''): string[] {
  const prefix = `${name}=`
  const parts = cookieHeader.split(';').map((part) => part.trim())
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
}

/**
 * The value of `Set-Cookie`. `value`: of letters, digits, `_`, `-` and `.`. `maxAgeSeconds`: 0 deletes it. With `Lax`,
 * a user who follows a link from another site, or returns from an identity provider, is still logged in. It protects as
 * much as `Strict` here, because request-rule.ts refuses everything else from other sites, even from other ports of
 * localhost, where both are sent.
 */
export function setCookie(
  name: string,
  value: string,
  { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean }
): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly${isSecure ? '; Secure' : ''}; SameSite=Lax`
}
