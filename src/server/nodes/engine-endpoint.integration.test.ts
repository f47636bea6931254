import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HostedNode } from '../../engine/nodes/peers/hosted-node.ts'
import type { NodeError, ScheduleRequest } from '../../engine/nodes/node-client.ts'
import { EngineNode } from '../../engine/nodes/peers/engine-node.ts'
import { createConnection } from '../../engine/nodes/scrapyd/connection.ts'
import { buildEggFromFolder } from '../../engine/projects/egg-builder.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { NODE_HEADER, PEER_HEADER } from '../../engine/runtime/peer-header.ts'
import { keepLearnedModules, lendLearnedModules } from '../../engine/testing/learned-modules.ts'
import { makeTemporaryDirectory } from '../../engine/testing/temporary-directory.ts'
import { findTestPython } from '../../engine/testing/test-python.ts'
import { render, say } from '../../shared/texts/message.ts'
import { until } from '../../engine/testing/until.ts'
import type { ProjectPython } from '../../shared/contract/index.ts'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { openEngineEndpoint } from './engine-endpoint.ts'
import { isCore } from '../../../scripts/test-length.mjs'

const SECRET = 'of-the-engines'
/** A name that HTTP headers cannot contain unencoded. */
const ENGINE = 'Łódź 1'
const DEMO = aProjectName('demo')
const V1 = aVersionName('1')
const RUN = { project: DEMO, spider: 'quotes', jobid: 'job1' }

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
let address: string | null
let python: ProjectPython
let engine: { stop(): Promise<void> } | null
let client: EngineNode

async function startEngine(): Promise<{ stop(): Promise<void> }> {
  const own = join(directory.path, 'local')
  lendLearnedModules(own)
  const node = await HostedNode.open({
    directory: own,
    resourcesDirectory: resolve('resources'),
    pythonPath: findTestPython(),
    slots: 2,
    jobsToKeep: null,
    clock: systemClock,
    logger: silentLogger,
    directories: { logsDirectory: join(own, 'logs'), itemsDirectory: join(own, 'items'), jobsDirectory: null },
    prunedDirectories: [join(own, 'logs'), join(own, 'items')]
  })
  const endpoint = await openEngineEndpoint({ node, name: ENGINE, secret: SECRET, logger: silentLogger })
  const server = createServer((request, response) =>
    endpoint.isFor(request) ? endpoint.handle(request, response) : response.writeHead(418).end()
  )
  address = await listening(server)
  return {
    async stop() {
      address = null
      server.closeAllConnections()
      server.close()
      await endpoint.stop()
      await node.close()
      keepLearnedModules(own)
    }
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function aClient({ secret = SECRET, engine = ENGINE } = {}): EngineNode {
  return new EngineNode({
    name: 'north',
    takesJobs: true,
    clock: systemClock,
    connect: createConnection,
    slots: () => null,
    place: () => (address === null ? null : { address, certificate: null }),
    certificate: null,
    secret,
    engine,
    isListed: () => true,
    projects: () => [DEMO],
    pythonOf: () => python
  })
}

const aRequest = (over: Partial<ScheduleRequest> = {}): ScheduleRequest => ({
  ...RUN,
  version: V1,
  settings: {},
  args: { pages: '2' },
  priority: 0,
  isVersionAsked: true,
  secretNames: [],
  limits: null,
  ...over
})

const eggOf = (bytes: Uint8Array) => ({
  sha256: createHash('sha256').update(bytes).digest('hex'),
  sizeBytes: bytes.length,
  open: async () => Readable.from([Buffer.from(bytes)], { objectMode: false })
})

const seen = async (jobid: string) => (await client.listJobs()).finished.find((job) => job.jobid === jobid)
const failure = (work: Promise<unknown>): Promise<NodeError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: NodeError) => error
  )

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  python = { kind: 'default' }
  engine = await startEngine()
  client = aClient()
})
afterEach(async () => {
  await client.close()
  await engine?.stop()
  await directory.remove()
})

test.skipIf(isCore)(
  'an egg is stored and its spiders are listed; a broken one is refused, and the earlier one stays',
  async () => {
    const egg = eggOf(await buildEggFromFolder(resolve('resources/demo')))
    expect(await client.eggTarget!.addVersion(DEMO, V1, egg)).toEqual({ spiders: expect.any(Number) })
    expect(await client.listSpiders(DEMO, V1)).toContain('quotes')
    const broken = eggOf(Buffer.from('no egg'))
    expect(await failure(client.eggTarget!.addVersion(DEMO, V1, broken))).toMatchObject({
      kind: 'refused',
      delivered: 'no',
      refusal: 'import_failed'
    })
    expect(await client.listSpiders(DEMO, V1)).toContain('quotes')
    const other = { ...egg, sha256: broken.sha256 }
    expect(await failure(client.eggTarget!.addVersion(DEMO, aVersionName('2'), other))).toBeInstanceOf(Error)
    expect(await client.eggTarget!.listVersions(DEMO)).toEqual(['1'])
    await client.eggTarget!.deleteVersion(DEMO, V1)
    expect(await failure(client.eggTarget!.deleteVersion(DEMO, V1))).toMatchObject({ refusal: 'unknown_version' })
    expect(await failure(client.schedule(aRequest()))).toMatchObject({ refusal: 'unknown_version', delivered: 'no' })
  },
  60_000
)

test('a run continues while its engine restarts at another address, and its end, log and items are available there', async () => {
  await client.eggTarget!.addVersion(DEMO, V1, eggOf(await buildEggFromFolder(resolve('resources/demo'))))
  const args = { pages: '6', delay: '0.5' }
  expect(await client.schedule(aRequest({ args }))).toEqual({ jobid: 'job1' })
  expect(await failure(client.schedule(aRequest({ args })))).toMatchObject({ kind: 'refused' })
  await until('it runs', async () => (await client.listJobs()).running.length === 1)
  await engine!.stop()
  engine = null
  expect(await failure(client.daemonStatus())).toMatchObject({ kind: 'unreachable', delivered: 'no' })
  engine = await startEngine()
  expect(await client.daemonStatus()).toMatchObject({ slots: { count: 2 }, nodeName: expect.any(String) })
  const ended = await until(
    'it ends',
    () => seen('job1'),
    (job) => job !== undefined,
    60_000
  )
  expect(ended).toMatchObject({ ...RUN, exit: { code: 0, signal: null, limit: null } })
  const tail = await client.readLog(RUN, { offset: -200, limitBytes: 1_000 })
  expect(new TextDecoder().decode(tail!.bytes)).toContain('Spider closed (finished)')
  expect(tail!.offset + tail!.bytes.length).toBe(tail!.sizeBytes)
  expect((await client.readItems(RUN, { offset: 0, limitBytes: 10 }))!.sizeBytes).toBeGreaterThan(0)
  expect(await client.readLog({ ...RUN, jobid: 'none' }, { offset: 0, limitBytes: 10 })).toBeNull()
}, 90_000)

test('events arrive without polling: the end of a run within a second', async () => {
  await client.eggTarget!.addVersion(DEMO, V1, eggOf(await buildEggFromFolder(resolve('resources/demo'))))
  let ended: Awaited<ReturnType<typeof seen>>
  // Read the job only when events arrive. The first ones can be late events of its start.
  client.watchJobs(() => void seen('job1').then((job) => (ended ??= job)))
  await client.schedule(aRequest({ args: { pages: '300', delay: '1' } }))
  await until('it runs', async () => (await client.listJobs()).running.length === 1)
  expect(await client.cancel({ project: DEMO, jobid: 'job1', signal: 'KILL' })).toEqual({ wasState: 'running' })
  await until('the end is told', async () => ended !== undefined, Boolean, 2_000)
  expect(ended).toMatchObject({ exit: { signal: 'SIGKILL' } })
}, 60_000)

test('a project with a Python of its own waits until the engine has it and knows the setting', async () => {
  await client.daemonStatus()
  await until(
    'the main Python is ready',
    async () => {
      await client.daemonStatus()
      return client.whyNotReady(DEMO)
    },
    (why) => why === null
  )
  python = { kind: 'interpreter', path: '/no/such/python' }
  expect(client.whyNotReady(DEMO)).toEqual(say('not_ready.python_not_told', { project: DEMO }))
  await until(
    'it says why',
    async () => {
      await client.daemonStatus()
      return client.whyNotReady(DEMO)
    },
    (why) => why?.code === 'not_ready.python_unusable' && render(why).startsWith('cannot run demo: /no/such/python')
  )
  python = { kind: 'default' }
  expect(client.whyNotReady(DEMO)).toEqual(say('not_ready.python_not_told', { project: DEMO }))
  await client.daemonStatus()
  expect(client.whyNotReady(DEMO)).toBeNull()
}, 60_000)

test('only an engine can reach the local node, and an invalid message changes nothing', async () => {
  const stranger = aClient({ secret: 'of-somebody-else' })
  expect(await failure(stranger.listJobs())).toMatchObject({ kind: 'http', message: expect.stringContaining('418') })
  await stranger.close()
  const other = aClient({ engine: 'south' })
  expect(await failure(other.listJobs())).toMatchObject({
    delivered: 'no',
    message: expect.stringContaining('engine_name')
  })
  await other.close()
  const headers = {
    [PEER_HEADER]: `${SECRET} -`,
    [NODE_HEADER]: encodeURIComponent(ENGINE),
    'content-type': 'application/json'
  }
  const post = (path: string, body: string) =>
    fetch(`${address}/api/engine/v1/${path}`, { method: 'POST', headers, body })
  expect((await post('cancel', '{"project":"demo","jobid":"x","signal":"USR1"}')).status).toBe(400)
  expect((await post('cancel', '[')).status).toBe(400)
  expect(
    (await post('file', JSON.stringify({ kind: 'log', ...RUN, spider: '..', offset: 0, limitBytes: 1 }))).status
  ).toBe(422)
  expect((await post('nothing', '{}')).status).toBe(404)
})
