import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ScrapdeckError } from '../../../shared/errors.ts'

/** A node's TLS settings, in addition to those of the system. All PEM. */
export interface Certificates {
  caCertificate: string | null
  clientCertificate: string | null
  clientKey: string | null
}

/** Throws NODE_CONNECTION_INVALID with the reason if these can never work. */
export function checkCertificates({ caCertificate, clientCertificate, clientKey }: Certificates): void {
  if (caCertificate !== null) checkCertificate(caCertificate, 'CA certificate')
  if (clientCertificate === null && clientKey === null) return
  if (clientCertificate === null || clientKey === null) {
    throw invalid(
      `A client certificate and its key belong together, and the ${clientKey === null ? 'key' : 'certificate'} is missing`
    )
  }
  checkCertificate(clientCertificate, 'client certificate')
  try {
    createSecureContext({ key: clientKey })
  } catch (error) {
    const isEncrypted = /ENCRYPTED/.test(clientKey) || (error as { code?: string }).code === 'ERR_MISSING_PASSPHRASE'
    throw invalid(
      isEncrypted
        ? 'The client key is protected by a passphrase. Remove the passphrase; Scrapdeck encrypts the key itself'
        : 'The client key is not a private key in PEM form (-----BEGIN PRIVATE KEY-----)',
      error
    )
  }
  try {
    createSecureContext({ cert: clientCertificate, key: clientKey })
  } catch (error) {
    throw invalid('The client key does not match the client certificate', error)
  }
}

function checkCertificate(text: string, noun: string): void {
  const pieces = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? ['']
  try {
    for (const piece of pieces) new X509Certificate(piece)
  } catch (error) {
    throw invalid(`The ${noun} is not in PEM form (-----BEGIN CERTIFICATE-----)`, error)
  }
}

function invalid(problem: string, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('NODE_CONNECTION_INVALID', `${problem}.`, { cause })
}
