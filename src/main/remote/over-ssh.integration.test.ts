import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type SshServer, SshWorld, whyNoSsh } from '../../engine/nodes/ssh/testing/ssh-world.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { CertificateFiles } from '../../server/certificate-files.ts'
import { makeCertificate } from '../../server/testing/make-certificate.ts'
import { openTestService } from '../../server/testing/test-app.ts'
import { CREDENTIALS, failureOf, openDesktop, settings } from './testing/open-desktop.ts'

describe.skipIf(whyNoSsh() !== null)('a remote engine behind an SSH host', () => {
  let world: SshWorld
  let host: SshServer
  beforeAll(async () => {
    world = new SshWorld()
    host = await world.startServer()
  }, 60_000)
  afterAll(() => world.close())

  it('is opened through it, and comes back by itself after the connection was lost', async () => {
    const { service } = await openTestService()
    const desktop = await openDesktop({ sshProgram: world.program })
    const url = `${host.url}/${service.address}`
    const { id } = await desktop.engines.add({ ...settings(url), credentials: CREDENTIALS })
    expect((await desktop.open(id).jobs.list({})).jobs.length).toBeGreaterThan(0)
    await desktop.untilState('live')
    await host.kill()
    const offline = await desktop.untilState('offline')
    expect(offline!.problem!.message).toMatch(/^EU \(ssh:.+\) cannot be reached: /)
    await host.start()
    await desktop.engines.retry({ id })
    await desktop.untilState('live')
    const signIn = await failureOf(desktop.engines.signIn(settings(url)))
    expect(signIn).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('through the SSH host') })
  }, 90_000)

  it('says in clear words what is wrong with the host key, or with the address behind it', async () => {
    const { service } = await openTestService()
    const desktop = await openDesktop({ sshProgram: world.program })
    const nowhere = await failureOf(
      desktop.engines.add({ ...settings(`${host.url}/http://127.0.0.1:2`), credentials: CREDENTIALS })
    )
    expect(nowhere.message).toContain('cannot be reached from the SSH host')
    const other = await world.startServer()
    world.distrust(other)
    const unknown = await failureOf(
      desktop.engines.add({ ...settings(`${other.url}/${service.address}`), credentials: CREDENTIALS })
    )
    expect(unknown).toMatchObject({
      code: 'ENGINE_UNREACHABLE',
      message: expect.stringMatching(/host key of SSH host .+ is not known here.+confirm the fingerprint/)
    })
  }, 90_000)

  it('has its self-made certificate pinned like any other', async () => {
    const made = makeCertificate('deck.example.org')
    const certificate = await CertificateFiles.open(made, { clock: systemClock, logger: silentLogger })
    onTestFinished(() => certificate.stop())
    const { service } = await openTestService({ certificate })
    const desktop = await openDesktop({ sshProgram: world.program })
    const add = { ...settings(`${host.url}/${service.address}`), credentials: CREDENTIALS }
    const unknown = await failureOf(desktop.engines.add(add))
    expect(unknown.code).toBe('ENGINE_CERTIFICATE_UNTRUSTED')
    const { fingerprint } = unknown.data['certificate'] as { fingerprint: string }
    const { id } = await desktop.engines.add({ ...add, trusted: fingerprint })
    expect((await desktop.open(id).system.status()).figures.paused).toBe(false)
  }, 90_000)
})
