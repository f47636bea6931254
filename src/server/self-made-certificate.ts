import { createPrivateKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { withReflection } from '../engine/runtime/with-reflection.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const AUTHORITY_DAYS = 3_650
/** How long a certificate is valid. Browsers accept up to 398 days. Mozilla's guidelines allow up to 366. */
const CERTIFICATE_DAYS = 365
const RENEW_BEFORE_DAYS = 30
const NAMES_MAX = 100

export interface SelfMadeOptions {
  /** A directory in the data directory. Only the service's user can read it. */
  directory: string
  /** Host names and addresses at which clients reach the service. */
  names: readonly string[]
  machine: string
  clock: Clock
  logger: Logger
}

/** The names in the service's certificate: all host names that clients can use to reach it. Pure. */
export function namesForCertificate(options: {
  bindAddress: string
  allowedHosts: readonly string[]
  machine: string
  /** The addresses of the network interfaces, used if the service listens on all of them. */
  addresses: readonly string[]
}): string[] {
  const isWildcard = ['', '0.0.0.0', '::'].includes(options.bindAddress)
  const own = isWildcard ? options.addresses : [options.bindAddress]
  const allowed = options.allowedHosts.map((host) => host.replace(/:\d+$/, '').replace(/^\[(.+)\]$/, '$1'))
  const all = ['localhost', '127.0.0.1', '::1', ...allowed, options.machine, ...own]
  const valid = all.map((name) => name.toLowerCase()).filter((name) => isIP(name) !== 0 || isHostName(name))
  return [...new Set(valid)].slice(0, NAMES_MAX)
}

const isHostName = (name: string) => name.length <= 253 && /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name)

export const authorityFile = (dataDirectory: string): string => join(selfMadeDirectory(dataDirectory), 'ca.pem')
export const selfMadeDirectory = (dataDirectory: string): string => join(dataDirectory, 'tls')

/**
 * Creates the authority if it is missing, and the certificate if there is none for these names. Renews the certificate
 * before it expires, but not the authority, because clients trust it. Returns one file with the certificate and its
 * key, so that both change together. Rejects with CERTIFICATE_UNUSABLE.
 */
export async function ensureSelfMade({ directory, names, machine, clock, logger }: SelfMadeOptions): Promise<string> {
  const path = join(directory, 'server.pem')
  const nowMs = clock.nowMs()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  let authority = await readAuthority(directory)
  if (authority === null || endOf(authority.certificate) - nowMs < RENEW_BEFORE_DAYS * DAY_MS) {
    const isFirst = authority === null
    const { createAuthority } = await withReflection(() => import('./make-certificates.ts'))
    const made = await createAuthority({
      machine,
      serialNumber: serialNumber(),
      fromMs: nowMs - HOUR_MS,
      untilMs: nowMs + AUTHORITY_DAYS * DAY_MS
    })
    // Write the key first, because an authority without its key could never sign.
    await replaceFile(join(directory, 'ca-key.pem'), made.key)
    await replaceFile(join(directory, 'ca.pem'), made.certificate)
    authority = { certificate: new X509Certificate(made.certificate), key: createPrivateKey(made.key) }
    const next = '"scrapdeck ca" shows it and how clients trust it'
    logger.warn(
      {},
      `${isFirst ? 'A certificate authority was made' : 'The authority ends; a new one was made'}: ${next}`
    )
  }
  if (isStillValid(await read(path), authority.certificate, names, nowMs)) return path
  const { createServerCertificate } = await withReflection(() => import('./make-certificates.ts'))
  const untilMs = Math.min(nowMs + CERTIFICATE_DAYS * DAY_MS, endOf(authority.certificate))
  const made = await createServerCertificate({
    names,
    serialNumber: serialNumber(),
    fromMs: nowMs - HOUR_MS,
    untilMs,
    authority: { certificate: authority.certificate.toString(), key: authority.key }
  })
  await replaceFile(path, `${made.certificate}\n${made.key}`)
  return path
}

interface Authority {
  certificate: X509Certificate
  key: KeyObject
}

async function readAuthority(directory: string): Promise<Authority | null> {
  const [certificate, key] = [await read(join(directory, 'ca.pem')), await read(join(directory, 'ca-key.pem'))]
  if (certificate === null) return null
  try {
    const authority = { certificate: new X509Certificate(certificate), key: createPrivateKey(key ?? '') }
    if (authority.certificate.checkPrivateKey(authority.key)) return authority
  } catch {
    // The error below covers this case and the case of a key that belongs to another authority.
  }
  throw new ScrapdeckError('CERTIFICATE_UNUSABLE', sentence('server.authority_without_key', { directory }))
}

function isStillValid(
  text: string | null,
  authority: X509Certificate,
  names: readonly string[],
  nowMs: number
): boolean {
  try {
    const certificate = new X509Certificate(text ?? '')
    const has = (name: string) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name))
    return (
      certificate.verify(authority.publicKey) &&
      certificate.checkPrivateKey(createPrivateKey(text ?? '')) &&
      endOf(certificate) - nowMs >= RENEW_BEFORE_DAYS * DAY_MS &&
      names.every((name) => has(name) !== undefined)
    )
  } catch {
    return false
  }
}

const endOf = (certificate: X509Certificate): number => Date.parse(certificate.validTo)

/** Returns a positive number, as X.509 requires. */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes.toString('hex')
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ScrapdeckError('CERTIFICATE_UNUSABLE', sentence('server.certificate_unreadable', { path }), { cause })
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
