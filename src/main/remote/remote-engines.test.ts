import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import type { MessagePortMain } from 'electron'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../engine/runtime/clock.ts'
import { openFileSecretBox } from '../../engine/runtime/file-secret-box.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { until } from '../../engine/testing/until.ts'
import { CertificateFiles } from '../../server/certificate-files.ts'
import { createFakeEngine, someFigures } from '../../server/testing/fake-engine.ts'
import { makeCertificate } from '../../server/testing/make-certificate.ts'
import { makeTestDirectory, openTestService } from '../../server/testing/test-app.ts'
import type { desktopContract, EngineSettings, RemoteEngine } from '../../shared/desktop/contract.ts'
import { fromWireError } from '../../shared/wire-errors.ts'
import type { EngineClient } from './connection.ts'
import { openRemoteEngines } from './remote-engines.ts'

const CREDENTIALS = { kind: 'password' as const, username: 'scrapdeck', password: 'correct horse: battery' }
const settings = (url: string, changes: Partial<EngineSettings> = {}): EngineSettings => ({
  ...{ name: 'EU', url, colour: 'teal' as const, readOnly: false },
  ...changes
})

function connectPort<Client>(serve: (port: MessagePortMain) => void): Client {
  const { port1, port2 } = new MessageChannel()
  serve(port1 as unknown as MessagePortMain)
  onTestFinished(() => port2.close())
  return createORPCClient(new RPCLink({ port: port2 })) as Client
}

async function openDesktop({ directory = makeTestDirectory(), appVersion = '0.1.0' } = {}) {
  const opened: string[] = []
  const remote = openRemoteEngines({
    path: join(directory, 'engines.json'),
    secretBox: await openFileSecretBox(join(directory, 'secret.key')),
    appVersion,
    openInBrowser: (url) => opened.push(url),
    clock: systemClock,
    logger: silentLogger
  })
  onTestFinished(() => remote.stop())
  const { engines } = connectPort<ContractRouterClient<typeof desktopContract>>(remote.connectApp)
  const list = async () => {
    for await (const { engines: listed } of await engines.watch()) return listed
    return []
  }
  return {
    ...{ directory, engines, opened, remote, list },
    open: (id: string) => connectPort<EngineClient>(remote.findConnect(id)!),
    untilState: (state: RemoteEngine['state']) =>
      until(
        `the engine to be ${state}`,
        async () => (await list())[0],
        (engine) => engine?.state === state,
        20_000
      )
  }
}

const failureOf = async (call: Promise<unknown>) =>
  fromWireError(
    await call.then(
      () => 'It did not fail',
      (error: unknown) => error
    )
  )

async function openCertificate() {
  const made = makeCertificate('deck.example.org')
  const certificate = await CertificateFiles.open(made, { clock: createFakeClock(), logger: silentLogger })
  onTestFinished(() => certificate.stop())
  return { made, certificate }
}

it('forwards calls, files, streams and errors, and keeps the password sealed in a file of its user', async () => {
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
  // Ends at the engine too, although it is silent now.
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

it('read-only refuses every change and lets reads through', async () => {
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

it('does not send credentials to another address than the one they were given for', async () => {
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

it('a program that is no Scrapdeck, and an address where nobody listens, are told apart', async () => {
  const other = createServer((_, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const desktop = await openDesktop()
  const add = () => failureOf(desktop.engines.add({ ...settings(url), credentials: CREDENTIALS }))
  const first = await add()
  expect([first.code, first.message]).toEqual([
    'ENGINE_UNREACHABLE',
    expect.stringContaining('not a response of Scrapdeck')
  ])
  other.closeAllConnections()
  other.close()
  const second = await add()
  expect([second.code, second.message]).toEqual(['ENGINE_UNREACHABLE', expect.stringContaining('ECONNREFUSED')])
})

it('a self-made certificate is trusted once it was seen, and another one is refused until it is trusted too', async () => {
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

it('while it does not respond, reads are answered as they were last, and it comes back by itself', async () => {
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

it('an older engine is asked what it has; what it lacks is refused with the reason', async () => {
  const { service } = await openTestService()
  const { origin } = new URL(service.address)
  // A service of an earlier release: the same, without webhooks.
  const answerAsOlder = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body =
      request.method === 'GET' ? undefined : new Uint8Array(await new Response(request as never).arrayBuffer())
    const { authorization = '' } = request.headers
    const type = request.headers['content-type'] ?? 'application/json'
    const answer = await fetch(origin + request.url!, {
      ...{ method: request.method!, headers: { authorization, 'content-type': type } },
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

it('a damaged list is moved aside, not written over', async () => {
  const directory = makeTestDirectory()
  const path = join(directory, 'engines.json')
  writeFileSync(path, '{"engines": [')
  expect(await (await openDesktop({ directory })).list()).toEqual([])
  expect(readFileSync(`${path}.unreadable`, 'utf8')).toBe('{"engines": [')
})
