// Node can read X.509 certificates, but not create them. This file is loaded once a year, to create a certificate.
import { type KeyObject, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'

const KEYS = { name: 'ECDSA', namedCurve: 'P-256' }
const SIGNED = { name: 'ECDSA', hash: 'SHA-256' }

interface Times {
  serialNumber: string
  fromMs: number
  untilMs: number
}

/** Both parts are PEM. */
interface Made {
  certificate: string
  key: string
}

/** Creates an authority that can sign only server certificates, not further authorities. */
export async function createAuthority({ machine, ...times }: Times & { machine: string }): Promise<Made> {
  const keys = await createKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...timesOf(times),
    name: [{ CN: [`Scrapdeck CA of ${machine}`.slice(0, 64)] }],
    keys,
    signingAlgorithm: SIGNED,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)
    ]
  })
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) }
}

export async function createServerCertificate({
  names,
  authority,
  ...times
}: Times & { names: readonly string[]; authority: { certificate: string; key: KeyObject } }): Promise<Made> {
  const keys = await createKeys()
  const issuer = new x509.X509Certificate(authority.certificate)
  const pkcs8 = authority.key.export({ type: 'pkcs8', format: 'der' })
  const certificate = await x509.X509CertificateGenerator.create({
    ...timesOf(times),
    subject: [{ CN: [(names.find((name) => isIP(name) === 0) ?? 'Scrapdeck').slice(0, 64)] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, KEYS, false, ['sign']),
    signingAlgorithm: SIGNED,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }))
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)
    ]
  })
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) }
}

const createKeys = () => webcrypto.subtle.generateKey(KEYS, true, ['sign', 'verify'])
const timesOf = ({ serialNumber, fromMs, untilMs }: Times) => ({
  serialNumber,
  notBefore: new Date(fromMs),
  notAfter: new Date(untilMs)
})
const pemOf = async (key: webcrypto.CryptoKey) =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
