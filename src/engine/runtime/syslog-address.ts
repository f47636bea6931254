import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'

export interface SyslogAddress {
  transport: 'udp' | 'tcp' | 'tls'
  host: string
  port: number
  /** A PEM file with the server's certificate authority. null: the authorities of this machine. */
  caFile: string | null
}

/** The default ports: RFC 5426; IANA's syslog-conn, as in syslog-ng (RFC 6587 defines none); RFC 5425. */
const PORTS = { 'udp:': 514, 'tcp:': 601, 'tls:': 6514 }
const isKnown = (protocol: string): protocol is keyof typeof PORTS => Object.hasOwn(PORTS, protocol)

/** Parses `tls://HOST[:PORT]`, `tcp:` or `udp:`. Throws BAD_INPUT. */
export function parseSyslogAddress(text: string, caFile: string | null): SyslogAddress {
  const refuse = (what: string) => new ScrapdeckError('BAD_INPUT', sentence('storage.syslog_address_invalid', { what }))
  if (!URL.canParse(text)) throw refuse('The address of the syslog server is not a URL')
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text)
  if (!isKnown(protocol)) throw refuse(`A syslog server cannot be at ${protocol}`)
  if (hostname === '') throw refuse('The address of the syslog server names no host')
  if (`${username}${password}${search}${hash}` !== '' || (pathname !== '' && pathname !== '/'))
    throw refuse('The address of the syslog server has more than a host and a port')
  if (caFile !== null && protocol !== 'tls:') throw refuse('Only a syslog server at tls: has a certificate')
  const transport = protocol.slice(0, -1) as SyslogAddress['transport']
  return {
    transport,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? PORTS[protocol] : Number(port),
    caFile
  }
}
