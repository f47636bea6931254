import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { authorityFile, ensureSelfMade } from '../server/self-made-certificate.ts'
import { makeTestDirectory } from '../engine/testing/test-directory.ts'
import { describeAuthority, requireAuthority } from './credentials.ts'

it('shows the CA of a data directory, and says how to create one if it is missing or damaged', async () => {
  const data = makeTestDirectory()
  expect(() => requireAuthority(data)).toThrow(/\(ENOENT\).*--tls-self-made/)
  const path = authorityFile(data)
  mkdirSync(dirname(path))
  writeFileSync(path, 'damaged')
  expect(() => requireAuthority(data)).toThrow('no certificate authority')
  const parts = { clock: createFakeClock(Date.now()), logger: silentLogger }
  const other = makeTestDirectory()
  await ensureSelfMade({ directory: dirname(authorityFile(other)), names: ['localhost'], machine: 'north', ...parts })
  const authority = requireAuthority(other)
  const asked = ['x509', '-noout', '-fingerprint', '-sha256']
  expect(execFileSync('openssl', asked, { input: authority.certificate, encoding: 'utf8' })).toContain(
    authority.fingerprint
  )
  for (const word of [
    'update-ca-certificates',
    'macOS',
    'certutil',
    'Firefox',
    '--cacert',
    'REQUESTS_CA_BUNDLE',
    authority.fingerprint
  ])
    expect(describeAuthority(authority)).toContain(word)
})
