import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { OWNER } from '../../engine/access/principal.ts'
import { type SshServer, SshWorld, whyNoSsh } from '../../engine/nodes/ssh/testing/ssh-world.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { until } from '../../engine/testing/until.ts'
import { CertificateFiles } from '../../server/certificate-files.ts'
import type { Browser } from '../../server/testing/identity-provider.ts'
import { makeCertificate } from '../../engine/testing/make-certificate.ts'
import { openTestService } from '../../server/testing/test-app.ts'
import { allowCode, allowInBrowser } from './testing/allow-in-browser.ts'
import { CREDENTIALS, failureOf, openDesktop, settings } from './testing/open-desktop.ts'

describe.skipIf(whyNoSsh() !== null)('a remote engine behind an SSH host', () => {
  let world: SshWorld
  let host: SshServer
  beforeAll(async () => {
    world = new SshWorld()
    host = await world.startServer()
  }, 60_000)
  afterAll(() => world.close())

  it('is opened through it, and comes back without any action after the connection was lost', async () => {
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
  }, 90_000)

  it('lets the user sign in with the local browser, through a port that is open until then', async () => {
    const { engine, service } = await openTestService()
    const url = `${host.url}/${service.address}`
    const browsers: Promise<Browser>[] = []
    const onBrowser = (opened: string) => void browsers.push(allowInBrowser(opened))
    const desktop = await openDesktop({ sshProgram: world.program, onBrowser })
    const { ticket, userName, role } = await desktop.engines.signIn(settings(url))
    expect([userName, role]).toEqual(['scrapdeck', 'operator'])
    const { origin, hostname, protocol } = new URL(desktop.opened[0]!)
    expect([protocol, hostname]).toEqual(['http:', expect.stringMatching(/^127\./)])
    expect(origin).not.toBe(service.address)
    await browsers[0]
    await expect(fetch(origin)).rejects.toThrow('fetch failed')
    const { id } = await desktop.engines.add({ ...settings(url), credentials: { kind: 'browser', ticket } })
    const client = desktop.open(id)
    expect(await client.users.me()).toMatchObject({ role: 'operator', tokenId: expect.any(String) })
    expect((await client.sessions.list()).sessions).toEqual([])
    await desktop.engines.remove({ id })
    expect(engine.access.listTokens(OWNER)).toEqual([])
  }, 90_000)

  it('closes that port when the sign-in is cancelled or denied', async () => {
    const { service } = await openTestService()
    const to = settings(`${host.url}/${service.address}`)
    const closing = new AbortController()
    const cancelled = await openDesktop({ sshProgram: world.program, onBrowser: () => closing.abort() })
    await expect(cancelled.engines.signIn(to, { signal: closing.signal })).rejects.toThrow()
    const [opened] = cancelled.opened as [string]
    await until(
      'the port to be closed',
      () => fetch(opened).catch(() => 'closed'),
      (found) => found === 'closed'
    )
    const onBrowser = (page: string) => void allowInBrowser(page, { isAllowed: false })
    const denied = await openDesktop({ sshProgram: world.program, onBrowser })
    expect(await failureOf(denied.engines.signIn(to))).toMatchObject({ code: 'SIGN_IN_FAILED' })
    await expect(fetch(denied.opened[0]!)).rejects.toThrow('fetch failed')
  }, 90_000)

  it('refuses the sign-in if another program on this computer opens its address as well', async () => {
    const { engine, service } = await openTestService()
    const answers: Promise<number>[] = []
    const open = async (page: string) => (await fetch(page, { redirect: 'manual' })).status
    const onBrowser = (page: string) => void answers.push(open(page).then(() => open(page)))
    const desktop = await openDesktop({ sshProgram: world.program, onBrowser })
    expect(await failureOf(desktop.engines.signIn(settings(`${host.url}/${service.address}`)))).toMatchObject({
      code: 'SIGN_IN_FAILED',
      message: expect.stringContaining('Another program or browser on this computer also opened the address')
    })
    expect(await Promise.all(answers)).toEqual([403])
    await expect(fetch(desktop.opened[0]!)).rejects.toThrow('fetch failed')
    expect(engine.access.listTokens(OWNER)).toEqual([])
  }, 90_000)

  it('lets the user sign in with a code that is typed into another browser', async () => {
    const { service } = await openTestService()
    const desktop = await openDesktop({ sshProgram: world.program })
    const to = settings(`${host.url}/${service.address}`)
    const steps = await desktop.engines.signInWithCode(to)
    const { value: waiting } = await steps.next()
    expect(waiting).toMatchObject({ is: 'waiting', page: `${service.address}/ui/#/authorize` })
    const { page, userCode } = waiting as { page: string; userCode: string }
    await allowCode(page, userCode)
    const { value: signedIn } = await steps.next()
    expect(signedIn).toMatchObject({ is: 'signedIn', userName: 'scrapdeck', role: 'operator' })
    const { ticket } = signedIn as { ticket: string }
    const added = await desktop.engines.add({ ...to, credentials: { kind: 'browser', ticket } })
    expect(added).toMatchObject({ signsInWith: 'browser', username: 'scrapdeck' })
    expect(desktop.opened).toEqual([])
  }, 90_000)

  it('explains what is wrong with the host key, or with the address behind it', async () => {
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

    // The app has checked the certificate, so the browser, which cannot check it, shows no warning.
    const onBrowser = (page: string) => void allowInBrowser(page)
    const other = await openDesktop({ sshProgram: world.program, onBrowser })
    expect((await failureOf(other.engines.signIn(add))).code).toBe('ENGINE_CERTIFICATE_UNTRUSTED')
    expect(other.opened).toEqual([])
    const signedIn = await other.engines.signIn({ ...add, trusted: fingerprint })
    expect([signedIn.userName, signedIn.role]).toEqual(['scrapdeck', 'operator'])
    expect(new URL(other.opened[0]!).protocol).toBe('http:')
  }, 90_000)
})
