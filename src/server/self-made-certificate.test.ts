import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import type { Logger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from './certificate-files.ts'
import { ensureSelfMade, namesForCertificate } from './self-made-certificate.ts'
import { makeTestDirectory, openTestService } from './testing/test-app.ts'

const DAY_MS = 86_400_000
const NAMES = ['localhost', '127.0.0.1', '::1', 'deck.example.org', '10.0.0.7']

function start(directory = join(makeTestDirectory(), 'data', 'tls')) {
  // The test's clock must start at the real time, because OpenSSL and curl use the real time.
  const clock = createFakeClock(Date.now())
  const logged: string[] = []
  const keep = (_facts: object, line: string) => logged.push(line)
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep }
  const ensure = (names = NAMES) => ensureSelfMade({ directory, names, machine: 'north', clock, logger })
  return {
    directory,
    clock,
    logger,
    logged,
    ensure,
    file: (name: string) => readFileSync(join(directory, name), 'utf8')
  }
}

it('a CA and a certificate are created that OpenSSL accepts strictly for every name, readable for their user only', async () => {
  const { ensure, directory, file, logged } = start()
  const path = await ensure()
  const verify = (...args: string[]) =>
    execFileSync(
      'openssl',
      ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', join(directory, 'ca.pem'), ...args, path],
      { encoding: 'utf8', stdio: 'pipe' }
    )
  for (const name of NAMES) {
    expect(verify(/^[\d.]+$|:/.test(name) ? '-verify_ip' : '-verify_hostname', name)).toContain('OK')
  }
  expect(() => verify('-verify_hostname', 'evil.example')).toThrow()
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  const authority = new X509Certificate(file('ca.pem'))
  expect([authority.ca, authority.subject]).toEqual([true, 'CN=Scrapdeck CA of north'])
  const server = new X509Certificate(file('server.pem'))
  expect(Date.parse(server.validTo) - Date.parse(server.validFrom)).toBeLessThan(366 * DAY_MS)
  expect(logged).toEqual([expect.stringContaining('"scrapdeck ca"')])
})

it('a good certificate stays; a new one is issued by the same CA for a new name or before it expires', async () => {
  const { ensure, file, clock, logged } = start()
  await ensure()
  const [authority, first] = [file('ca.pem'), file('server.pem')]
  await ensure(NAMES.slice(1))
  expect(file('server.pem')).toBe(first)
  await ensure([...NAMES, 'new.example.org'])
  const second = file('server.pem')
  expect(new X509Certificate(second).checkHost('new.example.org')).toBeDefined()
  await clock.advanceBy(330 * DAY_MS)
  await ensure()
  expect(file('server.pem')).toBe(second)
  await clock.advanceBy(8 * DAY_MS)
  await ensure()
  expect(file('server.pem')).not.toBe(second)
  expect(file('ca.pem')).toBe(authority)
  expect(logged).toHaveLength(1)
})

it('a damaged certificate is issued again, and a CA that has lost its key is refused', async () => {
  const { ensure, directory, file } = start()
  await ensure()
  writeFileSync(join(directory, 'server.pem'), 'damaged')
  await ensure()
  expect(file('server.pem')).toContain('BEGIN PRIVATE KEY')
  rmSync(join(directory, 'ca-key.pem'))
  await expect(ensure()).rejects.toMatchObject({
    code: 'CERTIFICATE_UNUSABLE',
    message: expect.stringContaining('ca-key.pem')
  })
})

it('the service uses the certificate, and renews it while it runs', async () => {
  const { ensure, directory, clock, logger } = start()
  const path = await ensure()
  let renewal: Promise<unknown> | null = null
  const renew = async () => void (await (renewal = ensure()))
  const certificate = await CertificateFiles.open({ certificate: path, key: path }, { clock, logger, renew })
  onTestFinished(async () => {
    certificate.stop()
    await renewal
  })
  const { port } = await openTestService({ certificate })
  const args = ['-sS', '--max-time', '10', '--cacert', join(directory, 'ca.pem')]
  const answer = await promisify(execFile)('curl', [...args, `https://localhost:${port}/health/live`])
  const first = certificate.own
  expect(answer.stdout).toContain('"live":true')
  await clock.advanceBy(370 * DAY_MS)
  await expect
    .poll(async () => {
      await clock.advanceBy(10_000)
      return certificate.own === first
    })
    .toBe(false)
})

it('it has the names that clients can use: allowed hosts without ports, the machine, and its addresses if it listens on all', () => {
  const named = (bindAddress: string) =>
    namesForCertificate({
      bindAddress,
      allowedHosts: ['Deck.example.org:8443', '[fd00::1]:6800', 'not a name'],
      machine: 'north',
      addresses: ['10.0.0.7', 'fe80::1']
    })
  const always = ['localhost', '127.0.0.1', '::1', 'deck.example.org', 'fd00::1', 'north']
  expect(named('0.0.0.0')).toEqual([...always, '10.0.0.7', 'fe80::1'])
  expect(named('10.0.0.9')).toEqual([...always, '10.0.0.9'])
  expect(named('127.0.0.1')).toEqual(always)
})
