import type { Socket } from 'node:net'
import type { DetailedPeerCertificate } from 'node:tls'
import { connect } from 'node:tls'
import type { SeenCertificate } from '../../shared/desktop/contract.ts'

export interface PeerCertificate extends SeenCertificate {
  pem: string
}

const PEM_COLUMNS = /.{1,64}/g

/**
 * The certificate that a server shows. Nothing is sent over this connection; who trusts it is decided later. `through`:
 * a connection to it, if it is not reached directly.
 */
export function readPeerCertificate(url: URL, timeoutMs: number, through?: Socket): Promise<PeerCertificate> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const servername = /^[\d.]+$|:/.test(host) ? '' : host
  return new Promise((resolve, reject) => {
    const to = through === undefined ? { host, port: Number(url.port || 443) } : { socket: through }
    const socket = connect({ ...to, servername, rejectUnauthorized: false })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(timeoutMs, () => fail(Object.assign(new Error('No TLS handshake'), { code: 'ETIMEDOUT' })))
    socket.once('error', fail)
    socket.once('secureConnect', () => {
      const seen = socket.getPeerCertificate(true)
      socket.destroy()
      resolve(describe(seen))
    })
  })
}

function describe({ raw, fingerprint256, subject, issuer, valid_to: until }: DetailedPeerCertificate): PeerCertificate {
  const lines = raw.toString('base64').match(PEM_COLUMNS) ?? []
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    fingerprint: fingerprint256,
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    validUntilMs: Date.parse(until)
  }
}

/** Whoever made the certificate chose these names: short, and of one line. */
function nameOf(name: Partial<Record<string, string | string[]>> | undefined): string {
  const text = [name?.['CN'] ?? name?.['O'] ?? ''].flat().join(', ')
  return text.replaceAll(/[^\P{C}]/gu, ' ').slice(0, 200) || 'without a name'
}
