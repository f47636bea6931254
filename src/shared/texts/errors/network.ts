import { sentencesOf } from '../sentence.ts'

/** Why no encrypted connection was made. They follow the address. */
export const networkErrors = {
  'network.other_host_name': () => 'has a certificate for a different host name. Use that name.',
  'network.unknown_authority': () =>
    'has a certificate that was issued by an unknown authority. For a private CA, set NODE_EXTRA_CA_CERTS=ca.pem.',
  'network.certificate_expired': () => 'has a certificate that has expired. Renew it there.',
  'network.certificate_not_valid_yet': () =>
    'has a certificate that is not valid yet. Check the clocks of both machines.',
  'network.no_tls': () => 'does not use TLS. Use http:// if that is intended.',
  'network.not_encrypted': ({ errorCode }: { errorCode: string }) => `made no encrypted connection (${errorCode}).`
}

export const sentence = sentencesOf(networkErrors)
