import type { Sentence } from '../shared/texts/sentence.ts'
import { type Stats, statSync, readFileSync } from 'node:fs'
import { credentialsFile, readCredentials, type StoredCredentials } from '../engine/runtime/credentials-file.ts'
import { findOwner, mayBePlanted } from '../engine/runtime/file-trust.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { X509Certificate } from 'node:crypto'
import { authorityFile } from '../server/self-made-certificate.ts'

export function describeCredentials(dataDirectory: string, address: string): string {
  const { username, password } = requireCredentials(dataDirectory)
  return `User name: ${username}
Password:  ${password}

For scrapyd-deploy, at the end of a project's scrapy.cfg (then: scrapyd-deploy scrapdeck):

[deploy:scrapdeck]
url = ${address}/
username = ${escapeConfig(username)}
password = ${escapeConfig(password)}
`
}

/**
 * Throws UNAUTHORIZED if another user owns the file, NOT_FOUND if it is missing, DATA_DIRECTORY_UNUSABLE if it is
 * damaged. `look` returns the file's owner, or undefined if there is no file.
 */
export function requireCredentials(
  dataDirectory: string,
  look: (file: string) => Pick<Stats, 'uid'> | undefined = (file) => statSync(file, { throwIfNoEntry: false })
): StoredCredentials {
  const file = credentialsFile(dataDirectory)
  try {
    const info = look(file)
    if (info !== undefined && mayBePlanted(info)) {
      throw notThisUsers(sentence('cli.credentials_of_another_user', { file, owner: findOwner(info) }))
    }
    const credentials = readCredentials(dataDirectory)
    if (credentials !== null) return credentials
  } catch (error) {
    if (!isDenied(error)) throw error
    throw notThisUsers(sentence('cli.credentials_unreadable', { file }), error)
  }
  throw new ScrapdeckError('NOT_FOUND', sentence('cli.no_credentials_yet', { dataDirectory }))
}

function notThisUsers(text: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('UNAUTHORIZED', text, { cause })
}

function isDenied(error: unknown): boolean {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown }
  return code === 'EACCES' || code === 'EPERM' || (cause !== undefined && isDenied(cause))
}

/** Doubles each `%`, because Python's ConfigParser treats a single one as the start of a reference. */
function escapeConfig(value: string): string {
  return value.replaceAll('%', '%%')
}

export interface Authority {
  path: string
  /** In PEM format. */
  certificate: string
  /** SHA-256, in the format that browsers show. */
  fingerprint: string
  validTo: string
}

/** Throws NOT_FOUND if the service with this data directory has not created a certificate authority. */
export function requireAuthority(dataDirectory: string): Authority {
  const path = authorityFile(dataDirectory)
  try {
    const certificate = readFileSync(path, 'utf8')
    const { fingerprint256, validTo } = new X509Certificate(certificate)
    return { path, certificate: `${certificate.trim()}\n`, fingerprint: fingerprint256, validTo }
  } catch (cause) {
    const { code = 'it is damaged' } = cause as NodeJS.ErrnoException
    throw new ScrapdeckError('NOT_FOUND', sentence('cli.no_certificate_authority', { path, code }), { cause })
  }
}

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
