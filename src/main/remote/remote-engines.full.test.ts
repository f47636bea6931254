import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { OWNER } from '../../engine/access/principal.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { CertificateFiles } from '../../server/certificate-files.ts'
import { createFakeEngine, someFigures } from '../../server/testing/fake-engine.ts'
import { makeCertificate } from '../../engine/testing/make-certificate.ts'
import { makeTestDirectory, openTestService } from '../../server/testing/test-app.ts'
import { allowInBrowser } from './testing/allow-in-browser.ts'
import { CREDENTIALS, failureOf, openDesktop, settings } from './testing/open-desktop.ts'

async function openCertificate() {
  const made = makeCertificate('deck.example.org')
  const certificate = await CertificateFiles.open(made, { clock: createFakeClock(), logger: silentLogger })
  onTestFinished(() => certificate.stop())
  return { made, certificate }
}

it('forwards calls, files, streams and errors, and keeps the password encrypted in a file of its user', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const desktop = await openDesktop()
  const { id } = await desktop.engines.add({ ...settings(`${service.address}/`), credentials: CREDENTIALS })
  const client = desktop.open(id)
  expect((await client.jobs.list({ project: 'news' })).jobs[0]).toMatchObject({ project: 'news' })
  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251)
  const file = new File([bytes], 'shop.egg')
  expect(await client.projects.upload({ file, project: 'shop' })).toMatchObject({ sizeBytes: 3_000_000 })
  engine.addBatch(someFigures(7))
  const closing = new AbortController()
  const batches = await client.events.subscribe({ after: '0' }, { signal: closing.signal })
  expect((await batches.next()).value).toMatchObject({ cursor: '1', changes: [{ figures: { queued: 7 } }] })
  // Checks that the stream also ends on the engine, although no event is pending.
  const next = batches.next()
  closing.abort()
  await expect(next).rejects.toThrow()
  await expect.poll(() => engine.openStreams.count).toBe(0)
  const missing = '019b0000000000000000000000000009'
  expect(await failureOf(client.jobs.get({ id: missing }))).toMatchObject({
    code: 'JOB_NOT_FOUND',
    data: { id: missing }
  })
  const path = join(desktop.directory, 'engines.json')
  expect(readFileSync(path, 'utf8')).not.toContain('battery')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const later = await openDesktop({ directory: desktop.directory })
  expect((await later.untilState('live'))!.name).toBe('EU')
  expect((await later.open(id).jobs.list({})).jobs.length).toBeGreaterThan(0)
})

it('refuses a wrong password before anything is saved, and says which engine refused it', async () => {
  const { service } = await openTestService()
  const desktop = await openDesktop()
  const wrong = { ...CREDENTIALS, password: 'wrong' }
  const failure = await failureOf(desktop.engines.add({ ...settings(service.address), credentials: wrong }))
  expect([failure.code, failure.message]).toEqual(['UNAUTHORIZED', expect.stringContaining(`EU (${service.address})`)])
  expect(await desktop.list()).toEqual([])
})

it('refuses every change and allows reads if it is read-only', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const desktop = await openDesktop()
  const readOnly = settings(service.address, { readOnly: true })
  const { id } = await desktop.engines.add({ ...readOnly, credentials: CREDENTIALS })
  const client = desktop.open(id)
  expect(await failureOf(client.system.setPaused({ paused: true }))).toMatchObject({ code: 'ENGINE_READ_ONLY' })
  expect((await client.system.status()).figures.paused).toBe(false)
  await desktop.engines.update({ ...readOnly, id, readOnly: false, credentials: null })
  expect(await client.system.setPaused({ paused: true })).toEqual({ paused: true })
})

it('sends credentials only to the address that they were given for', async () => {
  const { service } = await openTestService()
  const received: unknown[] = []
  const thief = createServer((request, response) => {
    received.push(request.headers.authorization)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(thief, 'listening')
  onTestFinished(() => void thief.close())
  const desktop = await openDesktop()
  const { id } = await desktop.engines.add({ ...settings(service.address), credentials: CREDENTIALS })
  const url = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`
  const failure = await failureOf(desktop.engines.update({ ...settings(url), id, credentials: null }))
  expect([failure.code, received]).toEqual(['BAD_INPUT', []])
  expect((await desktop.list())[0]!.url).toBe(service.address)
})

it('distinguishes a program that is not Scrapdeck from an address where nothing listens', async () => {
  const other = createServer((_, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const desktop = await openDesktop()
  const add = () => failureOf(desktop.engines.add({ ...settings(url), credentials: CREDENTIALS }))
  const first = await add()
  expect([first.code, first.message]).toEqual([
    'ENGINE_UNREACHABLE',
    expect.stringContaining('not a Scrapdeck response')
  ])
  other.closeAllConnections()
  other.close()
  const second = await add()
  expect([second.code, second.message]).toEqual(['ENGINE_UNREACHABLE', expect.stringContaining('ECONNREFUSED')])
  expect(second.data['text']).toMatchObject({
    code: 'desktop.engine_unreachable',
    params: { problem: { code: 'desktop.no_response', params: { errorCode: 'ECONNREFUSED' } } }
  })
})

it('trusts a self-made certificate on first use, and refuses another one until it is trusted too', async () => {
  const first = await openCertificate()
  const engine = createFakeEngine()
  const { service } = await openTestService({ certificate: first.certificate }, engine)
  const port = Number(new URL(service.address).port)
  const desktop = await openDesktop()
  const add = { ...settings(service.address), credentials: CREDENTIALS }
  const unknown = await failureOf(desktop.engines.add(add))
  expect(unknown.code).toBe('ENGINE_CERTIFICATE_UNTRUSTED')
  const { fingerprint } = unknown.data['certificate'] as { fingerprint: string }
  const { id, pinned } = await desktop.engines.add({ ...add, trusted: fingerprint })
  expect(pinned).toBe(fingerprint)
  const client = desktop.open(id)
  expect((await client.system.status()).figures.paused).toBe(false)

  await service.stop()
  const second = await openCertificate()
  await openTestService({ certificate: second.certificate, port }, engine)
  const changed = await failureOf(client.jobs.list({}))
  expect([changed.code, changed.message]).toEqual([
    'ENGINE_CERTIFICATE_CHANGED',
    expect.stringContaining(`trusted ${fingerprint}`)
  ])
  expect((await desktop.untilState('refused'))!.problem!.code).toBe('ENGINE_CERTIFICATE_CHANGED')
  const now = (changed.data['certificate'] as { fingerprint: string }).fingerprint
  await desktop.engines.update({ ...settings(service.address), id, credentials: null, trusted: now })
  expect((await desktop.untilState('live'))!.pinned).toBe(now)
  expect((await client.jobs.list({})).jobs.length).toBeGreaterThan(0)
})

it('returns the last responses while an engine does not respond, and reconnects without any action', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const desktop = await openDesktop()
  const { id } = await desktop.engines.add({ ...settings(service.address), credentials: CREDENTIALS })
  const client = desktop.open(id)
  const before = await client.jobs.list({ project: 'news' })
  await desktop.untilState('live')
  await service.stop()
  expect(await client.jobs.list({ project: 'news' })).toEqual(before)
  expect(await failureOf(client.system.setPaused({ paused: true }))).toMatchObject({ code: 'ENGINE_UNREACHABLE' })
  const offline = await desktop.untilState('offline')
  expect(offline!.problem!.message).toContain('Check that it is running')
  await openTestService({ port: Number(new URL(service.address).port) }, engine)
  await desktop.untilState('live')
  expect(await client.system.setPaused({ paused: true })).toEqual({ paused: true })
})

it('calls an older engine for what it supports, and refuses the rest with the reason', async () => {
  const { service } = await openTestService()
  const { origin } = new URL(service.address)
  // Simulates a service of an earlier release without webhooks.
  const answerAsOlder = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body =
      request.method === 'GET' ? undefined : new Uint8Array(await new Response(request as never).arrayBuffer())
    const { authorization = '' } = request.headers
    const type = request.headers['content-type'] ?? 'application/json'
    const answer = await fetch(origin + request.url!, {
      method: request.method!,
      headers: { authorization, 'content-type': type },
      ...(body?.byteLength && { body })
    })
    let text = await answer.text()
    if (request.url === '/api/openapi.json') {
      const document = JSON.parse(text) as { paths: Record<string, unknown> }
      for (const path of Object.keys(document.paths)) if (path.startsWith('/webhooks')) delete document.paths[path]
      text = JSON.stringify(document)
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text)
  }
  const older = createServer((request, response) => void answerAsOlder(request, response)).listen(0, '127.0.0.1')
  await once(older, 'listening')
  onTestFinished(() => void older.close())
  const desktop = await openDesktop({ appVersion: '99.0.0' })
  const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
  const { id } = await desktop.engines.add({ ...settings(url), credentials: CREDENTIALS })
  const engine = await desktop.untilState('live')
  expect([engine!.age, engine!.lacks.every((name) => name.startsWith('webhooks.'))]).toEqual(['older', true])
  expect(engine!.lacks).toContain('webhooks.list')
  expect(await failureOf(desktop.open(id).webhooks.list())).toMatchObject({ code: 'ENGINE_LACKS_OPERATION' })
  expect(
    (await (await openDesktop({ directory: desktop.directory, appVersion: '0.0.1' })).untilState('live'))!.age
  ).toBe('newer')
})

it('opens the UI of an engine in the browser, and forgets an engine with its credentials', async () => {
  const { service } = await openTestService()
  const desktop = await openDesktop()
  const { id } = await desktop.engines.add({ ...settings(service.address), credentials: CREDENTIALS })
  await desktop.engines.openUi({ id })
  expect(desktop.opened).toEqual([`${service.address}/ui/`])
  await desktop.engines.remove({ id })
  expect(desktop.remote.findConnect(id)).toBeNull()
  expect(JSON.parse(readFileSync(join(desktop.directory, 'engines.json'), 'utf8'))).toEqual({ engines: [] })
})

it('moves a damaged list aside and does not overwrite it', async () => {
  const directory = makeTestDirectory()
  const path = join(directory, 'engines.json')
  writeFileSync(path, '{"engines": [')
  expect(await (await openDesktop({ directory })).list()).toEqual([])
  expect(readFileSync(`${path}.unreadable`, 'utf8')).toBe('{"engines": [')
})

it('signs in with the browser: the token stays in the app, works for that address, and is revoked with the engine', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const desktop = await openDesktop({ onBrowser: (page) => void allowInBrowser(page) })
  const to = settings(service.address)
  const { ticket, userName, role } = await desktop.engines.signIn(to)
  expect([userName, role]).toEqual(['scrapdeck', 'operator'])
  expect(desktop.opened[0]).toMatch(/\/ui\/#\/authorize\?client=desktop&/)
  const elsewhere = await openTestService()
  const stolen = settings(elsewhere.service.address)
  const refused = await failureOf(desktop.engines.add({ ...stolen, credentials: { kind: 'browser', ticket } }))
  expect(refused).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('Log in again') })
  const again = await desktop.engines.signIn(to)
  const added = await desktop.engines.add({ ...to, credentials: { kind: 'browser', ticket: again.ticket } })
  expect(added).toMatchObject({ signsInWith: 'browser', username: 'scrapdeck' })
  expect(await desktop.open(added.id).users.me()).toMatchObject({ role: 'operator', tokenId: expect.any(String) })
  const tokens = () => engine.access.listTokens(OWNER).map(({ name }) => name)
  expect(tokens()).toEqual(Array(2).fill(expect.stringMatching(/^Desktop app on /)))
  await desktop.engines.remove({ id: added.id })
  expect(tokens()).toHaveLength(1)
})

it('gets nothing from a sign-in that is denied, cancelled, or unknown to the service', async () => {
  const { service } = await openTestService()
  const denied = await openDesktop({ onBrowser: (page) => void allowInBrowser(page, { isAllowed: false }) })
  expect(await failureOf(denied.engines.signIn(settings(service.address)))).toMatchObject({ code: 'SIGN_IN_FAILED' })
  const closing = new AbortController()
  const given = await openDesktop({ onBrowser: () => closing.abort() })
  await expect(given.engines.signIn(settings(service.address), { signal: closing.signal })).rejects.toThrow()
  const other = createServer((_, response) => response.writeHead(404).end('<html></html>')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  expect(await failureOf(given.engines.signIn(settings(url)))).toMatchObject({ code: 'SIGN_IN_UNAVAILABLE' })
  expect(given.opened).toHaveLength(1)
})

it('shows the last state after a restart of the app, too, from a file of its user that is deleted with the engine', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const desktop = await openDesktop()
  const { id } = await desktop.engines.add({ ...settings(service.address), credentials: CREDENTIALS })
  const client = desktop.open(id)
  const before = await client.jobs.list({ project: 'news' })
  // Only an owner can list the users.
  await client.users.list()
  await desktop.untilState('live')
  await desktop.remote.stop()
  await service.stop()
  const path = join(desktop.directory, 'engine-states', id)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  const names = readdirSync(path)
  expect(names.length).toBeGreaterThan(1)
  for (const name of names) {
    expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(path, name), 'utf8')).not.toMatch(/battery|users\.list/)
  }

  const later = await openDesktop({ directory: desktop.directory })
  const offline = (await later.untilState('offline'))!
  expect(Date.now() - offline.asOfMs!).toBeLessThan(60_000)
  expect(await later.open(id).jobs.list({ project: 'news' })).toEqual(before)
  expect(await failureOf(later.open(id).jobs.list({ project: 'other' }))).toMatchObject({ code: 'ENGINE_UNREACHABLE' })
  await later.engines.remove({ id })
  expect(existsSync(path)).toBe(false)
})

it('does not show what earlier credentials saw', async () => {
  const engine = createFakeEngine()
  const { service } = await openTestService({}, engine)
  const { secret } = await engine.access.createToken(OWNER, { name: 'x', expiresInDays: 1 })
  const desktop = await openDesktop()
  const to = settings(service.address)
  const { id } = await desktop.engines.add({ ...to, credentials: CREDENTIALS })
  await desktop.open(id).jobs.list({ project: 'news' })
  await desktop.engines.update({ ...to, id, credentials: { kind: 'token', token: secret } })
  await desktop.untilState('live')
  await service.stop()
  await desktop.untilState('offline')
  expect(await failureOf(desktop.open(id).jobs.list({ project: 'news' }))).toMatchObject({ code: 'ENGINE_UNREACHABLE' })
})
