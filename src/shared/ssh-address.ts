/** The target of `ssh`. null values come from the user's ~/.ssh/config, where `host` can be an alias. */
export interface SshHost {
  user: string | null
  /** A name, or an IP address without brackets. Kept as typed, because ssh compares aliases case-sensitively. */
  host: string
  port: number | null
}

/** The two parts of `ssh://[user@]host[:port]/ADDRESS`. `inner` is the node's address as seen from the SSH host. */
export interface SshAddress {
  ssh: SshHost
  inner: string
}

// These become ssh arguments. Other characters could act as a %-token or as whitespace in a command of the ssh
// configuration.
const USER = /^[a-z0-9_][a-z0-9_.+-]{0,63}$/i
const NAME = /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$/i
const IPV6 = /^\[([0-9a-f:]{2,39}(:\d{1,3}(\.\d{1,3}){3})?)\]$/i
const PORT = /^0*([1-9]\d{0,4})$/

const isSshAddress = (text: string): boolean => /^ssh:\/\//i.test(text)

/**
 * Parses an entered address. Returns null if it does not start with ssh://, and a string that explains why it
 * cannot be used. The string has no full stop and never quotes a possible password.
 */
export function readSshAddress(text: string): SshAddress | string | null {
  if (!isSshAddress(text)) return null
  const rest = text.slice('ssh://'.length)
  const slash = rest.indexOf('/')
  const authority = slash === -1 ? rest : rest.slice(0, slash)
  const inner = slash === -1 ? '' : rest.slice(slash + 1)
  const at = authority.lastIndexOf('@')
  const user = at === -1 ? null : authority.slice(0, at)
  if (user?.includes(':') === true) {
    return 'Scrapdeck does not use passwords for SSH: remove it from the address, and use a key or an SSH agent'
  }
  if (user !== null && !USER.test(user)) {
    return 'The SSH user may consist of letters, digits and . _ + -, and cannot begin with a sign'
  }
  const [, host = '', portText] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(authority.slice(at + 1)) ?? []
  const bare = IPV6.exec(host)?.[1] ?? host
  if (bare === host && !NAME.test(host)) {
    return 'The SSH host must be a host name, an alias from ~/.ssh/config without special characters, or an IP address'
  }
  const port = portText === undefined ? null : Number(PORT.exec(portText)?.[1] ?? 0)
  if (port === 0 || (port !== null && port > 65_535)) return 'The SSH port must be a number from 1 to 65535'
  if (inner === '') {
    return 'The address ends at the SSH host: add the address of the Scrapyd as seen from there, even if it is that host itself'
  }
  if (isSshAddress(inner)) return 'Only one SSH host can be in the address: set others as ProxyJump in ~/.ssh/config'
  if (/^https?:\/(?!\/)/i.test(inner)) return 'The address behind the SSH host must begin with http:// or https://'
  return { ssh: { user, host: bare, port }, inner }
}

export function nameOfSshHost({ user, host, port }: SshHost): string {
  const bracketed = host.includes(':') ? `[${host}]` : host
  return `${user === null ? '' : `${user}@`}${bracketed}${port === null ? '' : `:${port}`}`
}

export function splitAddress(url: string): { ssh: SshHost | null; inner: string } {
  const read = readSshAddress(url)
  return read === null || typeof read === 'string' ? { ssh: null, inner: url } : read
}

const LOOPBACK = /^((.*\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/

/** `10.0.0.5:6800`: a short name for a node. A Scrapyd on the SSH host itself gets the name of that host. */
export function shortNameOf(url: string): string {
  const { ssh, inner } = splitAddress(url)
  const host = /^https?:\/\/([^/]+)/.exec(inner)?.[1] ?? inner
  return ssh !== null && LOOPBACK.test(host) ? ssh.host : host
}
