import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { SecureContextOptions } from 'node:tls'
import type { Clock, Timer } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'

export interface CertificatePaths {
  /** PEM with the certificate, followed by the intermediate certificates. */
  certificate: string
  /** PEM, without a passphrase. */
  key: string
  /** PEM. Clients must present a certificate signed by one of these. */
  clientAuthority?: string | null
}

interface Parts {
  clock: Clock
  logger: Logger
  /** Renews the files before the certificate expires. Absent if the service does not manage them. */
  renew?: () => Promise<void>
}

const CHECK_EVERY_MS = 10_000

/**
 * The accepted protocols: TLS 1.2 with forward secrecy and authenticated encryption, or TLS 1.3. This is Mozilla's
 * "intermediate" configuration.
 */
const MODERN = {
  minVersion: 'TLSv1.2',
  ecdhCurve: 'X25519:prime256v1:secp384r1',
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305']
  ].join(':')
} satisfies SecureContextOptions

interface Pair {
  readonly certificate: string
  readonly key: string
  readonly clientAuthority: string | null
}

/**
 * The service's certificate and key, reloaded when the files change. If the new pair is unusable, the old pair stays in
 * use, because a failed renewal must not stop a running service.
 */
export class CertificateFiles {
  readonly #paths: CertificatePaths
  readonly #parts: Parts
  #pair: Pair
  #timer: Timer
  #problem: string | null = null
  #isStopped = false
  readonly #users = new Set<(files: CertificateFiles) => void>()

  private constructor(paths: CertificatePaths, parts: Parts, pair: Pair) {
    this.#paths = paths
    this.#parts = parts
    this.#pair = pair
    this.#timer = parts.clock.setTimer(CHECK_EVERY_MS, () => void this.#check())
  }

  /** Rejects with CERTIFICATE_UNUSABLE. */
  static async open(paths: CertificatePaths, parts: Parts): Promise<CertificateFiles> {
    return new CertificateFiles(paths, parts, await readPair(paths))
  }

  get context(): SecureContextOptions {
    const { certificate, key, clientAuthority } = this.#pair
    return { ...MODERN, cert: certificate, key, ...(clientAuthority !== null && { ca: clientAuthority }) }
  }

  get own(): string {
    return certificatesIn(this.#pair.certificate)[0]!
  }

  get endsAtMs(): number {
    return new X509Certificate(this.own).validToDate.getTime()
  }

  get asksClients(): boolean {
    return this.#pair.clientAuthority !== null
  }

  /** Calls `user` now and after each change. */
  use(user: (files: CertificateFiles) => void): void {
    this.#users.add(user)
    user(this)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer.cancel()
  }

  async #check(): Promise<void> {
    const { clock, logger, renew } = this.#parts
    try {
      await renew?.()
      const now = await readPair(this.#paths)
      const names = ['certificate', 'key', 'clientAuthority'] as const
      const isNew = names.some((name) => now[name] !== this.#pair[name])
      this.#problem = null
      if (isNew) {
        this.#pair = now
        for (const user of this.#users) user(this)
        logger.info({ validTo: new X509Certificate(this.own).validTo }, 'The certificate of the service was renewed')
      }
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#problem) logger.error({}, `${message} The former certificate stays in use.`)
      this.#problem = message
    }
    if (!this.#isStopped) this.#timer = clock.setTimer(CHECK_EVERY_MS, () => void this.#check())
  }
}

async function readPair(paths: CertificatePaths): Promise<Pair> {
  const [certificate, key] = await Promise.all([read(paths.certificate), read(paths.key)])
  const [own] = certificatesIn(certificate)
  if (own === undefined) throw unusable(paths.certificate, 'is not in PEM form (-----BEGIN CERTIFICATE-----)')
  let matches: boolean
  try {
    matches = new X509Certificate(own).checkPrivateKey(createPrivateKey(key))
  } catch (cause) {
    throw unusable(`${paths.certificate} or ${paths.key}`, 'is not in PEM form, or the key has a passphrase', cause)
  }
  if (!matches) throw unusable(paths.key, `is not the key of ${paths.certificate}`)
  const clientAuthority = paths.clientAuthority == null ? null : await readAuthority(paths.clientAuthority)
  return { certificate, key, clientAuthority }
}

async function readAuthority(path: string): Promise<string> {
  const text = await read(path)
  try {
    const found = certificatesIn(text).map((one) => new X509Certificate(one))
    if (found.length > 0) return text
  } catch (cause) {
    throw unusable(path, 'has a certificate that cannot be read', cause)
  }
  throw unusable(path, 'is not in PEM form (-----BEGIN CERTIFICATE-----)')
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw unusable(path, `cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'})`, cause)
  }
}

const certificatesIn = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []

function unusable(what: string, problem: string, cause?: unknown): ScrapdeckError {
  const text = sentence('server.certificate_unusable', { what, problem })
  return new ScrapdeckError('CERTIFICATE_UNUSABLE', text, { cause })
}
