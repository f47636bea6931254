import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { authorityFile } from '../server/self-made-certificate.ts'
import { ScrapdeckError } from '../shared/errors.ts'

export interface Authority {
  path: string
  /** PEM. */
  certificate: string
  /** SHA-256, as browsers show it. */
  fingerprint: string
  validTo: string
}

/** Throws NOT_FOUND if the service of this data directory has made none. */
export function requireAuthority(dataDirectory: string): Authority {
  const path = authorityFile(dataDirectory)
  try {
    const certificate = readFileSync(path, 'utf8')
    const { fingerprint256, validTo } = new X509Certificate(certificate)
    return { path, certificate: `${certificate.trim()}\n`, fingerprint: fingerprint256, validTo }
  } catch (cause) {
    const { code = 'it is damaged' } = cause as NodeJS.ErrnoException
    throw new ScrapdeckError(
      'NOT_FOUND',
      `There is no certificate authority in ${path} (${code}). Start the service with tls_self_made = on (--tls-self-made), or name its data directory with --data.`,
      { cause }
    )
  }
}

/** How programs and people trust it. */
export function describeAuthority({ path, fingerprint, validTo }: Authority): string {
  return `The certificate authority of this Scrapdeck, valid until ${validTo}
SHA-256 ${fingerprint}
Save the text below as scrapdeck-ca.pem on each machine that uses this Scrapdeck (here it is ${path}):

  Debian, Ubuntu     sudo cp scrapdeck-ca.pem /usr/local/share/ca-certificates/scrapdeck.crt && sudo update-ca-certificates
  Fedora, RHEL       sudo cp scrapdeck-ca.pem /etc/pki/ca-trust/source/anchors/ && sudo update-ca-trust
  macOS              sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain scrapdeck-ca.pem
  Windows            certutil -addstore -f Root scrapdeck-ca.pem   (as administrator)
  Firefox            Settings, Certificates, View Certificates, Authorities, Import
  curl               curl --cacert scrapdeck-ca.pem https://HOST:6800/
  Python requests    REQUESTS_CA_BUNDLE=scrapdeck-ca.pem   (scrapyd-client and python-scrapyd-api use requests)
  scrapdeck, Node    NODE_EXTRA_CA_CERTS=scrapdeck-ca.pem

Anyone with the key beside it (ca-key.pem) can pose as any server to those machines: keep the data directory closed.
`
}
