import { aProjectName } from '../shared/testing/ids.ts'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SECRET_MASK } from '../shared/contract/index.ts'
import type { ErrorCode } from '../shared/errors.ts'
import type { ScrapydFile } from './api/scrapyd-commands/scrapyd-shapes.ts'
import { createEngine, type Engine } from './index.ts'
import { plain } from '../shared/texts/message.ts'
import { NodeError, type NodeSignal } from './nodes/node-client.ts'
import { buildEgg } from './projects/egg-builder.ts'
import { createFakeClock, type FakeClock } from './testing/fake-clock.ts'
import { FakeNode } from './testing/fake-node.ts'
import { makeTemporaryDirectory } from './testing/temporary-directory.ts'
import { OWNER } from './access/principal.ts'
import { advanceUntil } from './testing/until.ts'
import { isCore } from '../../scripts/test-length.mjs'

const SHOP = aProjectName('shop')

const RESOURCES = join(import.meta.dirname, '..', '..', 'resources')
let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
let clock: FakeClock
let node: FakeNode
let engine: Engine
let client: Awaited<ReturnType<typeof clientOf>>
let passwordsSeen: (string | null)[]

const clientOf = async (one: Engine) =>
  createRouterClient(await one.router(), { context: { principal: OWNER, source: 'api' } })

async function start(): Promise<void> {
  engine = await createEngine({
    dataDirectory: directory.path,
    host: 'service',
    resourcesDirectory: RESOURCES,
    scrapdeckVersion: 'test',
    seams: {
      clock,
      localNode: null,
      createNodeClient: (_stored, password) => {
        passwordsSeen.push(password)
        return node
      }
    }
  })
  client = await clientOf(engine)
  await clock.advanceBy(0)
}

const until = (isTrue: () => Promise<boolean> | boolean) => advanceUntil(clock, isTrue)

async function prepare(): Promise<string> {
  const { id } = await client.nodes.add({
    url: 'http://127.0.0.1:9/',
    username: 'me',
    password: 'open sesame',
    slots: 2
  })
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  await client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg'),
    project: 'shop',
    version: '1'
  })
  await clock.advanceBy(100)
  return id
}

const codeOf = async (call: Promise<unknown>): Promise<ErrorCode | null> =>
  call.then(
    () => null,
    (error: { code: ErrorCode }) => error.code
  )

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  clock = createFakeClock()
  node = new FakeNode(clock, { slots: 2 })
  passwordsSeen = []
  await start()
})

afterEach(async () => {
  await engine.stop()
  await directory.remove()
})

describe('an engine', () => {
  it.skipIf(isCore)('identifies the Scrapyd of a discovered node when it first responds, and not again', async () => {
    let asked = 0
    node.isDown = true
    Object.assign(node, { probeVersion: async () => `1.${++asked}` })
    await client.discovery.put({
      id: 'list',
      source: { kind: 'list', nodes: 'http://10.0.0.1:6800/' },
      refreshSeconds: 30,
      node: {}
    })
    const versions = async () => (await client.nodes.list()).nodes.map(({ scrapydVersion }) => scrapydVersion)
    await until(async () => (await client.nodes.list()).nodes[0]?.health === 'down')
    expect(await versions()).toEqual([null])
    node.isDown = false
    await until(async () => (await versions())[0] === '1.1')
    node.isDown = true
    await until(async () => (await client.nodes.list()).nodes[0]?.health === 'down')
    node.isDown = false
    await until(async () => (await client.nodes.list()).nodes[0]?.health === 'up')
    await clock.advanceBy(5000)
    expect(await versions()).toEqual(['1.1'])
    expect(asked).toBe(1)
  })

  it('runs a job from request to success, sends the egg first, and archives the log', async () => {
    await prepare()
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    const id = jobs[0]!.id
    await until(async () => (await client.jobs.get({ id })).job.state === 'running')
    node.endAll()
    await until(async () => (await client.jobs.get({ id })).job.state === 'ended')
    const { job, attempts, timeline } = await client.jobs.get({ id })
    expect(job).toMatchObject({ status: 'succeeded', reason: 'finished', items: 3, version: null })
    expect(attempts).toMatchObject([{ version: '1', result: 'succeeded', logArchived: true }])
    expect(timeline.map(({ kind }) => kind)).toEqual(['queued', 'sending', 'accepted', 'running', 'finishing', 'ended'])
    node.logs.clear()
    expect((await client.logs.read({ jobId: id, offset: -200 })).text).toContain('Spider closed (finished)')
  })

  it('publishes every change of a job as it happens', async () => {
    await prepare()
    const stream = await client.events.subscribe({})
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    const states: string[] = []
    void (async () => {
      for (;;) {
        const { value, done } = await iterator.next()
        if (done === true) return
        for (const change of value.changes)
          if (change.kind === 'job' && change.job.id === jobs[0]!.id) states.push(change.job.state)
      }
    })()
    await until(async () => states.includes('running'))
    expect(states.indexOf('running')).toBe(states.length - 1)
  })

  it('keeps nodes, versions, the pause and the queue across a restart', async () => {
    await prepare()
    await client.system.setPaused({ paused: true })
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices', 'prices'] })
    await engine.stop()
    await start()
    await clock.advanceBy(1_000)
    expect((await client.jobs.get({ id: jobs[0]!.id })).job.waiting?.code).toBe('paused')
    expect(node.executed).toEqual([])
    await client.system.setPaused({ paused: false })
    await until(async () => node.executed.length === 2)
    expect([...node.executed].sort()).toEqual(jobs.map(({ id }) => id).sort())
  })

  it('keeps node passwords encrypted on the disk, and decrypts them only for the client', async () => {
    await prepare()
    for (const file of await readdir(directory.path, { withFileTypes: true })) {
      if (!file.isFile()) continue
      expect(readFileSync(join(directory.path, file.name)).includes('open sesame')).toBe(false)
    }
    expect(passwordsSeen).toEqual(['open sesame'])
    const { nodes } = await client.nodes.list()
    expect(nodes[0]).toMatchObject({ username: 'me', hasPassword: true })
    expect(JSON.stringify(nodes)).not.toContain('open sesame')
  })

  it('a node that moves to another address loses its password unless it is entered again', async () => {
    const id = await prepare()
    expect(await client.nodes.update({ id, name: 'renamed', slots: 3 })).toMatchObject({ hasPassword: true, slots: 3 })
    expect(await client.nodes.update({ id, url: 'http://127.0.0.1:9/base' })).toMatchObject({ hasPassword: true })
    expect(await client.nodes.update({ id, url: 'http://127.0.0.2:9/' })).toMatchObject({ hasPassword: false })
    expect(await client.nodes.update({ id, url: 'http://you:there@127.0.0.3:9/' })).toMatchObject({
      username: 'you',
      hasPassword: true
    })
    expect(passwordsSeen).toEqual(['open sesame', 'open sesame', null, 'there'])
  })

  it('a log on a node that is down fails with an error of the node, not of ours', async () => {
    await prepare()
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await until(async () => node.running.length === 1)
    node.isDown = true
    expect(await codeOf(client.logs.read({ jobId: jobs[0]!.id, offset: 0 }))).toBe('NODE_UNREACHABLE')
  })

  it('refuses a second engine on the same data directory', async () => {
    const second = createEngine({
      dataDirectory: directory.path,
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'test'
    })
    expect(await codeOf(second)).toBe('DATA_DIRECTORY_IN_USE')
  })

  it.skipIf(process.platform === 'win32')('keeps everything in its data directory from other users', async () => {
    await prepare()
    const open = readdirSync(directory.path).filter((name) => statSync(join(directory.path, name)).mode & 0o077)
    expect(open).toEqual([])
    expect(readdirSync(directory.path)).toEqual(expect.arrayContaining(['engine.lock', 'local']))
    await engine.stop()
    // An older Scrapdeck, or a careless copy, left the directory open.
    chmodSync(directory.path, 0o755)
    await start()
    expect(statSync(directory.path).mode & 0o077).toBe(0)
  })

  it('does not start with a Python that spiders could not use', async () => {
    const call = createEngine({
      dataDirectory: join(directory.path, 'other'),
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'test',
      pythonPath: join(directory.path, 'no-python')
    })
    await expect(call).rejects.toThrow(`The Python ${join(directory.path, 'no-python')} does not exist.`)
  })

  it('refuses a data directory that is a file', async () => {
    const dataDirectory = join(directory.path, 'credentials.json')
    const call = createEngine({
      dataDirectory,
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'test'
    })
    expect(await codeOf(call)).toBe('DATA_DIRECTORY_UNUSABLE')
  })
})

describe('invalid commands', () => {
  it.each([
    ['an unknown project', { project: 'nope', spiders: ['prices'] }, 'PROJECT_NOT_FOUND'],
    ['an unknown version', { project: 'shop', version: '7', spiders: ['prices'] }, 'VERSION_NOT_FOUND'],
    ['a reserved argument', { project: 'shop', spiders: ['prices'], args: { _job: 'x' } }, 'ARGUMENT_RESERVED'],
    ['an unknown node', { project: 'shop', spiders: ['prices'], nodeId: 'n-0' }, 'NODE_NOT_FOUND']
  ] as const)('%s changes nothing', async (_case, input, code) => {
    await prepare()
    expect(await codeOf(client.jobs.run({ ...input, spiders: [...input.spiders] }))).toBe(code)
    expect((await client.jobs.list({})).jobs).toEqual([])
  })

  it('a node that is already in the fleet is refused, and so is removing a busy one without force', async () => {
    const id = await prepare()
    expect(await codeOf(client.nodes.add({ url: '127.0.0.1:9' }))).toBe('NODE_DUPLICATE')
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await until(async () => node.running.length === 1)
    expect(await codeOf(client.nodes.remove({ id }))).toBe('NODE_BUSY')
    await client.nodes.remove({ id, force: true })
    expect((await client.jobs.get({ id: jobs[0]!.id })).job).toMatchObject({ status: 'lost', reason: 'node removed' })
    expect((await client.nodes.list()).nodes).toEqual([])
  })

  it('a version that queued jobs would use is not deleted', async () => {
    await prepare()
    node.daemonStatus = async () => {
      throw new NodeError('unreachable', plain('fake is down'), { delivered: 'no' })
    }
    await clock.advanceBy(15_000)
    await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    expect(await codeOf(client.projects.deleteVersion({ project: 'shop', version: '1' }))).toBe('VERSION_IN_USE')
    expect((await client.projects.list()).projects).toHaveLength(1)
  })

  it.each([
    ['a node that refuses to delete a version is named', 'other', [{ state: 'failed', error: 'it refused' }]],
    ['a node that does not know the version to be deleted is done with it', 'unknown_version', []]
  ] as const)('%s', async (_, refusal, failed) => {
    await prepare()
    await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await until(async () => node.running.length === 1)
    node.endAll()
    await until(async () => (await client.jobs.list({ status: ['succeeded'] })).jobs.length === 1)
    node.deleteVersion = async () => {
      throw new NodeError('refused', plain('it refused'), { delivered: 'no', nodeMessage: 'no', refusal })
    }
    const { failedNodes } = await client.projects.deleteVersion({ project: 'shop', version: '1' })
    expect(failedNodes).toMatchObject(failed)
    expect(failedNodes).toHaveLength(failed.length)
  })
})

describe('secret values', () => {
  const SECRET = 'a value that nobody may see'
  const order = {
    project: 'shop',
    spiders: ['prices'],
    settings: { TOKEN: SECRET, LOG_LEVEL: 'INFO' },
    args: { key: SECRET, page: '1' },
    secretNames: ['TOKEN', 'key']
  }

  it('reach the node, but no response, change, Scrapyd client or file of ours', async () => {
    await prepare()
    await client.system.setPaused({ paused: true })
    const feed = (await client.events.subscribe({}))[Symbol.asyncIterator]()
    await feed.next()
    const shown: unknown[] = []
    const { jobs } = await client.jobs.run(order)
    const id = jobs[0]!.id
    expect(jobs[0]).toMatchObject({
      settings: { TOKEN: SECRET_MASK, LOG_LEVEL: 'INFO' },
      args: { key: SECRET_MASK, page: '1' },
      secretNames: ['TOKEN', 'key']
    })
    shown.push(jobs, await client.jobs.list({}), await engine.scrapyd.listJobs(null, 100), (await feed.next()).value)
    expect(JSON.stringify(shown)).toContain(SECRET_MASK)
    await client.system.setPaused({ paused: false })
    await until(async () => node.running.length === 1)
    expect(node.running[0]).toMatchObject({ settings: order.settings, args: order.args })
    node.endAll()
    await until(async () => (await client.jobs.get({ id })).job.state === 'ended')
    const { timeline } = await client.jobs.get({ id })
    expect(timeline.find(({ kind }) => kind === 'accepted')?.evidence).toMatchObject({
      secrets: expect.stringContaining('on a Scrapyd node they are visible')
    })
    shown.push(await client.jobs.get({ id }), await client.jobs.retry({ ids: [id] }))
    await until(async () => node.running.length === 1)
    expect(node.running[0]).toMatchObject({ settings: order.settings, args: order.args })
    expect(JSON.stringify(shown)).not.toContain(SECRET)
    for (const file of await readdir(directory.path, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(SECRET)).toBe(false)
    }
  })

  it.each([
    ['a name that is no setting and no argument', { secretNames: ['TOKEN', 'tokn'] }, /"tokn" is marked secret/],
    ['dots for a value', { settings: { TOKEN: SECRET_MASK } }, /only of the dots/],
    ['limits nothing could run under', { limits: { openFiles: 3 } }, /open files limit below 64/]
  ])('%s: refused, nothing is queued', async (_case, over, message) => {
    await prepare()
    await expect(client.jobs.run({ ...order, ...over })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(message)
    })
    expect((await client.jobs.list({})).jobs).toEqual([])
  })
})

it('limits that a remote node cannot enforce are not sent, and the timeline says so', async () => {
  await prepare()
  const limits = { wallSeconds: 60, memoryMegabytes: 512 }
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'], limits })
  const id = jobs[0]!.id
  await until(async () => node.running.length === 1)
  expect(node.running[0]!.limits).toBeNull()
  await until(async () => (await client.jobs.get({ id })).job.state === 'running')
  const accepted = (await client.jobs.get({ id })).timeline.find(({ kind }) => kind === 'accepted')
  expect(accepted?.evidence).toMatchObject({ limits: 'some limits are enforced only on local nodes' })
  expect(await client.jobs.usage({ id })).toEqual({ samples: [] })
  expect(await codeOf(client.jobs.usage({ id: 'f'.repeat(32) }))).toBe('JOB_NOT_FOUND')
})

describe('draining', () => {
  it('cordons the node as soon as its last send is refused', async () => {
    const id = await prepare()
    const answer = Promise.withResolvers<never>()
    const schedule = node.schedule.bind(node)
    const asked = Promise.withResolvers<void>()
    node.schedule = () => {
      asked.resolve()
      return answer.promise
    }
    await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await clock.advanceBy(100)
    await asked.promise
    expect((await client.nodes.setMode({ id, mode: 'draining' })).mode).toBe('draining')
    answer.reject(new NodeError('refused', plain('fake refused: no'), { delivered: 'no', nodeMessage: 'no' }))
    node.schedule = schedule
    await clock.advanceBy(0)
    await until(async () => (await client.jobs.list({ status: ['queued'] })).jobs.length === 1)
    expect((await client.nodes.list()).nodes[0]!.mode).toBe('cordoned')
  })

  it('waits for the last job, then the node is cordoned', async () => {
    const id = await prepare()
    await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await until(async () => node.running.length === 1)
    expect((await client.nodes.setMode({ id, mode: 'draining' })).mode).toBe('draining')
    await client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await clock.advanceBy(5_000)
    expect(node.executed).toHaveLength(1)
    node.endAll()
    await until(async () => (await client.nodes.get({ id })).mode === 'cordoned')
    expect(node.executed).toHaveLength(1)
  })
})

describe('as one Scrapyd', () => {
  const PRICES = { project: SHOP, spider: 'prices', version: null }

  it('a client always sees its own jobid, and a second cancel is forced', async () => {
    await prepare()
    const order = { jobid: 'mine/1', priority: 0, settings: {}, args: { _project: 'x' } }
    expect(await engine.scrapyd.schedule(PRICES, () => order)).toEqual({ jobid: 'mine/1' })
    await until(async () => node.running.length === 1)
    expect(node.running[0]!.jobid).toMatch(/^[0-9a-f]{32}$/)
    expect(node.running[0]!.args).toEqual({})
    await until(async () => (await engine.scrapyd.status({ jobid: 'mine/1', project: null })).currstate === 'running')
    expect(await engine.scrapyd.cancel({ project: SHOP, jobid: 'mine/1', signal: null })).toEqual({
      prevstate: 'running'
    })
    await engine.scrapyd.cancel({ project: SHOP, jobid: 'mine/1', signal: null })
    await until(async () => node.running[0]?.signals.length === 2)
    node.end(node.running[0]!.jobid, 'shutdown')
    await until(async () => (await engine.scrapyd.listJobs(SHOP, 100)).finished.length === 1)
    expect((await engine.scrapyd.listJobs(null, 100)).finished[0]).toMatchObject({ jobid: 'mine/1', itemsFile: null })
    expect(await engine.scrapyd.daemonStatus(100)).toEqual({ pending: 0, running: 0, finished: 1 })
    const { logFile } = (await engine.scrapyd.listJobs(null, 100)).finished[0]!
    const directory = await engine.scrapyd.openFile('logs', ['shop', 'prices'])
    expect(directory).toMatchObject({ kind: 'directory', entries: [{ name: logFile, isDirectory: false }] })
    const log = await engine.scrapyd.openFile('logs', ['shop', 'prices', logFile!])
    expect(await text((log as ScrapydFile).read(0, 26))).toBe('2026-01-01 00:00:00 [scrap')
    expect(await engine.scrapyd.openFile('items', ['shop', 'prices', logFile!.replace('.log', '.jl')])).toBeNull()
    expect(await engine.scrapyd.openFile('logs', ['shop', 'other', logFile!])).toBeNull()
  })

  const scheduled = (jobid: string) =>
    engine.scrapyd.schedule(PRICES, () => ({ jobid, priority: 0, settings: {}, args: {} }))

  it('two jobs can have one jobid: each runs with an id of its own on the node, and a cancel applies to both', async () => {
    await prepare()
    for (const _time of [1, 2, 3]) await scheduled('nightly 2026:01')
    await until(async () => (await engine.scrapyd.daemonStatus(100)).running === 2)
    const [first, second] = node.running.map(({ jobid }) => jobid)
    expect(first).toBe('nightly 2026:01')
    expect(second).toMatch(/^[0-9a-f]{32}$/)
    const { running, pending } = await engine.scrapyd.listJobs(SHOP, 100)
    expect([...running, ...pending].map(({ jobid }) => jobid)).toEqual(Array(3).fill('nightly 2026:01'))
    expect(running.map(({ logFile }) => logFile)).toEqual(['nightly 2026:01.log', `${second}.log`])

    const cancel = { project: SHOP, jobid: 'nightly 2026:01', signal: { send: 'TERM' as const } }
    expect(await engine.scrapyd.cancel(cancel)).toEqual({ prevstate: 'running' })
    await until(async () => node.running.every(({ signals }) => signals.length === 1))
    await clock.advanceBy(120_000)
    // A named signal is sent once, without a cancel ladder.
    expect(node.running.map(({ signals }) => signals)).toEqual([['TERM'], ['TERM']])
    for (const { jobid } of [...node.running]) node.end(jobid, 'shutdown')
    await until(async () => (await engine.scrapyd.daemonStatus(100)).finished === 2)
    // As in Scrapyd, a cancelled pending job leaves no trace.
    expect((await engine.scrapyd.listJobs(SHOP, 100)).finished).toHaveLength(2)
    expect(await engine.scrapyd.daemonStatus(1)).toEqual({ pending: 0, running: 0, finished: 1 })
    expect((await client.jobs.list({})).jobs.map(({ outcome }) => outcome)).toEqual(Array(3).fill('cancelled'))
  })

  it('an invalid signal is refused once a job runs, and a harmless one is not a cancel', async () => {
    await prepare()
    await scheduled('a')
    await until(async () => node.running.length === 1)
    await until(async () => (await engine.scrapyd.status({ jobid: 'a', project: SHOP })).currstate === 'running')
    const cancel = (signal: { send: NodeSignal } | { refuse: string }) =>
      engine.scrapyd.cancel({ project: SHOP, jobid: 'a', signal })
    await expect(cancel({ refuse: 'TypeError: …' })).rejects.toThrow('TypeError: …')
    expect(await cancel({ send: 0 })).toEqual({ prevstate: 'running' })
    await until(async () => node.running[0]!.signals.length === 1)
    node.endAll()
    await until(async () => (await engine.scrapyd.status({ jobid: 'a', project: null })).currstate === 'finished')
    expect((await client.jobs.list({})).jobs[0]).toMatchObject({ outcome: 'succeeded', cancelAskedAtMs: null })
  })

  it('a project with jobs can be deleted: running jobs continue, waiting ones give the reason', async () => {
    await prepare()
    for (const jobid of ['a', 'b', 'c']) await scheduled(jobid)
    await until(async () => (await engine.scrapyd.daemonStatus(100)).running === 2)
    await engine.scrapyd.deleteProject(SHOP)
    expect(await engine.scrapyd.listProjects()).toEqual([])
    expect(await codeOf(engine.scrapyd.listJobs(SHOP, 100))).toBe('PROJECT_NOT_FOUND')
    expect((await engine.scrapyd.listJobs(null, 100)).pending.map(({ jobid }) => jobid)).toEqual(['c'])
    node.endAll()
    await until(async () => (await engine.scrapyd.daemonStatus(100)).finished === 2)
    const waits = (await client.jobs.list({ status: ['queued'] })).jobs[0]
    expect(waits).toMatchObject({ jobid: 'c', waiting: { code: 'version_missing' } })
  })

  it('an unknown project is an error, no job or an empty list, depending on the command, as in Scrapyd', async () => {
    await prepare()
    expect(await codeOf(engine.scrapyd.listJobs(aProjectName('nope'), 100))).toBe('PROJECT_NOT_FOUND')
    expect(await codeOf(engine.scrapyd.cancel({ project: aProjectName('nope'), jobid: 'x', signal: null }))).toBe(
      'PROJECT_NOT_FOUND'
    )
    expect(await engine.scrapyd.cancel({ project: SHOP, jobid: 'x', signal: null })).toEqual({ prevstate: null })
    expect(await engine.scrapyd.listVersions(aProjectName('nope'))).toEqual([])
  })
})
