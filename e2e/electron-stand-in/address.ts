// Custom schemes cannot be added to Chromium from outside, so scrapdeck-app://app/x is served as
// https://scrapdeck-app.app.localhost/x: a secure origin of its own, never on the network (requests are answered before
// they leave). The app and its handlers only ever see the first form, the browser only the second.
const schemes = new Set<string>()

export function addScheme(scheme: string): void {
  schemes.add(scheme)
}

/** The app's URL of a page → the browser's. */
export function toBrowserUrl(url: string): string {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/s.exec(url)
  if (!match?.[1] || !schemes.has(match[1])) return url
  return `https://${match[1]}.${match[2]}.localhost${match[3] || '/'}`
}

/** The browser's URL of a page → the app's. */
export function toAppUrl(url: string): string {
  const match = /^https:\/\/([a-z][a-z0-9+-]*)\.([^/?#]*)\.localhost(.*)$/s.exec(url)
  if (!match?.[1] || !schemes.has(match[1])) return url
  return `${match[1]}://${match[2]}${match[3]}`
}

export function schemeOf(url: string): string | null {
  const scheme = toAppUrl(url).split(':', 1)[0] ?? ''
  return schemes.has(scheme) ? scheme : null
}
