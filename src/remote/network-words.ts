import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/network.ts'
import type { Sentence } from '../shared/texts/sentence.ts'

const NO_TLS = 'NO_TLS'
const KNOWN = /^(E[A-Z]+$|UND_ERR|ERR_(SSL|TLS)|CERT_|DEPTH_|SELF_|UNABLE_|SSH_|HPE_)/

/** The code of a network or TLS error, which can be a cause of the given error. null: another kind of error. */
export function networkCode(error: unknown): string | null {
  for (let one = error, depth = 0; depth < 8 && typeof one === 'object' && one !== null; depth += 1) {
    const { code, message, name, cause, errors } = one as Record<string, unknown>
    if (one instanceof ScrapdeckError) return null
    // OpenSSL's errors share one code. Only the text identifies a server without TLS.
    if (code === 'EPROTO' && /wrong version number|packet length too long/.test(String(message))) return NO_TLS
    if (typeof code === 'string' && KNOWN.test(code)) return code
    if (name === 'TimeoutError') return 'ETIMEDOUT'
    one = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  // `fetch` throws this error when a connection ends in the middle of a response.
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message) ? 'ECONNRESET' : null
}

/** Whether the code means that the issuer is not trusted here, or that the certificate is for another name. */
export const isUntrusted = (code: string): boolean =>
  /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME|CERT_UNTRUSTED/.test(code)

/** Describes a TLS error and what to do, to be shown after the engine's address. Returns null for other errors. */
export function describeTlsProblem(code: string): Sentence | null {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return sentence('network.other_host_name')
  if (isUntrusted(code)) {
    return sentence('network.unknown_authority')
  }
  if (code === 'CERT_HAS_EXPIRED') return sentence('network.certificate_expired')
  if (code === 'CERT_NOT_YET_VALID') {
    return sentence('network.certificate_not_valid_yet')
  }
  if (code === NO_TLS || /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code)) {
    return sentence('network.no_tls')
  }
  return /^(ERR_SSL|ERR_TLS|CERT_|EPROTO)/.test(code) ? sentence('network.not_encrypted', { errorCode: code }) : null
}

/** Whether this may be a connection without TLS that a server with TLS closed immediately. */
export const mayWantTls = (code: string, url: string): boolean =>
  /ECONNRESET|UND_ERR_SOCKET/.test(code) && url.startsWith('http:')
