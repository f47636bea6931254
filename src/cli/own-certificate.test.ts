import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from '../server/certificate-files.ts'
import { recordService } from '../server/service-file.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { makeTestDirectory, openTestService } from '../server/testing/test-app.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call } from './testing/call.ts'

async function openCertificate() {
  const parts = { clock: createFakeClock(), logger: silentLogger }
  const certificate = await CertificateFiles.open(makeCertificate('deck.example.org'), parts)
  onTestFinished(() => certificate.stop())
  return certificate
}

it('the local service is trusted by its exact certificate, whatever names it has, and no other server is', async () => {
  const dataDirectory = makeTestDirectory()
  const { service, engine } = await openTestService({ certificate: await openCertificate(), dataDirectory })
  writeFileSync(join(dataDirectory, 'credentials.json'), JSON.stringify(engine.credentials), { mode: 0o600 })
  const here = { password: '', service: { dataDirectory, port: null }, environment: { SCRAPDECK_USERNAME: '' } }
  expect(await call(['nodes', 'list'], here)).toMatchObject({ code: 0, out: expect.stringMatching(/^No nodes/) })
  // Record another certificate for the same address.
  await recordService(dataDirectory, service.address, await openCertificate())
  expect(await call(['nodes', 'list'], here)).toMatchObject({
    code: EXIT_CODES.unreachable,
    error: expect.stringContaining('unknown authority')
  })
})
