// Chromium allows no additional custom schemes, so scrapdeck-app://app/x is served as
// https://scrapdeck-app.app.localhost/x, a secure origin of its own. The app and its handlers see only the first
// form, the browser only the second.
const schemes = new Set<string>()

export function addScheme(scheme: string): void {
  schemes.add(scheme)
}

export function toBrowserUrl(url: string): string {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/s.exec(url)
  if (!match?.[1] || !schemes.has(match[1])) return url
  return `https://${match[1]}.${match[2]}.localhost${match[3] || '/'}`
}

export function toAppUrl(url: string): string {
  const match = /^https:\/\/([a-z][a-z0-9+-]*)\.([^/?#]*)\.localhost(.*)$/s.exec(url)
  if (!match?.[1] || !schemes.has(match[1])) return url
  return `${match[1]}://${match[2]}${match[3]}`
}

export function schemeOf(url: string): string | null {
  const scheme = toAppUrl(url).split(':', 1)[0] ?? ''
  return schemes.has(scheme) ? scheme : null
}
