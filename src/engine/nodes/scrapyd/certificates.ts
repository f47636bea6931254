import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'

/** A node's TLS settings, in addition to those of the system. All PEM. */
export interface Certificates {
  caCertificate: string | null
  clientCertificate: string | null
  clientKey: string | null
}

/** Throws NODE_CONNECTION_INVALID with the reason if the certificates can never work. */
export function checkCertificates({ caCertificate, clientCertificate, clientKey }: Certificates): void {
  if (caCertificate !== null) checkCertificate(caCertificate, sentence('nodes.ca_certificate_invalid'))
  if (clientCertificate === null && clientKey === null) return
  if (clientCertificate === null || clientKey === null) {
    throw invalid(sentence(clientKey === null ? 'nodes.client_key_missing' : 'nodes.client_certificate_missing'))
  }
  checkCertificate(clientCertificate, sentence('nodes.client_certificate_invalid'))
  try {
    createSecureContext({ key: clientKey })
  } catch (error) {
    const isEncrypted = /ENCRYPTED/.test(clientKey) || (error as { code?: string }).code === 'ERR_MISSING_PASSPHRASE'
    throw invalid(sentence(isEncrypted ? 'nodes.client_key_encrypted' : 'nodes.client_key_invalid'), error)
  }
  try {
    createSecureContext({ cert: clientCertificate, key: clientKey })
  } catch (error) {
    throw invalid(sentence('nodes.client_key_differs'), error)
  }
}

function checkCertificate(text: string, problem: Sentence): void {
  const pieces = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? ['']
  try {
    for (const piece of pieces) new X509Certificate(piece)
  } catch (error) {
    throw invalid(problem, error)
  }
}

function invalid(problem: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('NODE_CONNECTION_INVALID', problem, { cause })
}
