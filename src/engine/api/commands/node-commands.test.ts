import { rootCertificates } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aProjectName, aSourceId, aVersionName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { describeNode } from '../../jobs/dispatch/describe-node.ts'
import { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import { Fleet } from '../../nodes/fleet.ts'
import { CredentialFiles } from '../../nodes/kubernetes/credential-files.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob, anAttemptStart } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { NodeCommands } from './node-commands.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const SHOP = aProjectName('shop')

const clock = createFakeClock()
let temporary: TemporaryStore
let fleet: Fleet
let commands: NodeCommands
let live: LiveAttempts
let moved: string[]
let forgetNode: (id: string) => Promise<void>

beforeEach(async () => {
  temporary = await openTemporaryStore({ clock })
  live = new LiveAttempts({ store: temporary.store, clock })
  moved = []
  forgetNode = async () => {}
  fleet = new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    createClient: async ({ url }) => {
      const node = new FakeNode(clock, { slots: 2 })
      node.isDown = url.includes('eu-2')
      return node
    },
    proxyUrlOf: async ({ sealedProxyUrl }) => sealedProxyUrl
  })
  commands = new NodeCommands({
    store: temporary.store,
    fleet,
    live,
    distribution: { forgetNode: (id) => forgetNode(id) },
    dispatch: {
      wake: () => {},
      abandonNode: async () => {},
      giveUpUnresolved: async (id) => (moved.push(id), [])
    },
    secretBox: { store: 'file', description: '', seal: async (text) => asSealedText(text), open: async (text) => text },
    clock,
    random: createSeededRandom(2),
    pulling: { get: () => undefined },
    engineNodes: { isThere: (url) => url === 'engine:north' },
    credentialFiles: new CredentialFiles({ directories: ['/etc/clusters'], never: [] }),
    newJobId: createJobIds(clock, createSeededRandom(3))
  })
})

afterEach(async () => {
  await fleet.stop()
  await temporary.remove()
})

const add = (url: string) => commands.add({ url, password: 'p', scrapydVersion: null })

describe('concurrent commands about nodes', () => {
  it('keep the address while it is unknown whether a job arrived there; jobs being sent meanwhile are given up', async () => {
    const { stored } = await add('http://eu-1:6800/')
    const job = aNewJob()
    await temporary.store.enqueueJobs([job])
    const { one } = (await live.begin([anAttemptStart(job, { nodeId: stored.id })])).get(job.id)!
    await expect(commands.update(stored.id, { url: 'http://eu-9:6800/' })).rejects.toMatchObject({ code: 'NODE_BUSY' })
    expect(fleet.get(stored.id)?.stored.url).toBe('http://eu-1:6800/')
    await commands.update(stored.id, { name: 'one' })
    expect(moved).toEqual([])
    await live.end(one, {
      from: ['sending'],
      kind: 'refused',
      result: 'refused',
      jobOutcome: null,
      atMs: 0,
      message: plain('Not taken'),
      evidence: {}
    })
    await commands.update(stored.id, { url: 'http://eu-9:6800/' })
    expect(moved).toEqual([stored.id])
  })

  it('create one node when they add an address twice, and the second response says so', async () => {
    const [first, second] = await Promise.allSettled([add('http://eu-1:6800/'), add('http://eu-1:6800/')])
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected'])
    expect(second).toMatchObject({ reason: { code: 'NODE_DUPLICATE' } })
    expect(fleet.list()).toHaveLength(1)
  })

  it('do not undo a cordon by editing the name', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    await Promise.all([commands.update(id, { name: 'Frankfurt' }), commands.setMode(id, 'cordoned')])
    expect(fleet.get(id)!.stored).toMatchObject({ name: 'Frankfurt', mode: 'cordoned' })
    expect((await temporary.store.listNodes())[0]).toMatchObject({ name: 'Frankfurt', mode: 'cordoned' })
  })

  it('leave a node active that is activated while it is drained', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    fleet.update({ ...fleet.get(id)!.stored, mode: 'draining' })
    await Promise.all([commands.setMode(id, 'active'), commands.cordonDrained(id)])
    expect(fleet.get(id)!.stored.mode).toBe('active')
  })

  it('ignore observations of the old address for a node at a new one', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    await clock.advanceBy(1_000)
    expect(fleet.get(id)!.status.health).toBe('up')
    const moved = await commands.update(id, { url: 'http://eu-2:6800/' })
    expect(moved.status.health).not.toBe('up')
  })
})

describe('the files that the address of a cluster names', () => {
  const url = 'https://k8s.example.org/api/v1/namespaces/crawl'
  const none = { engineUrl: null, graceSeconds: 30, quota: null, pod: {}, projects: {}, tokenFile: null, caFile: null }
  const refused = { code: 'CREDENTIAL_FILE_NOT_ALLOWED' }

  it('must be those that the operator of the machine allows, in a new address and in a changed one', async () => {
    const addWith = (files: object) => commands.add({ url, kubernetes: { ...none, ...files }, scrapydVersion: null })
    await expect(addWith({ tokenFile: '/var/lib/scrapdeck/secret.key' })).rejects.toMatchObject(refused)
    await expect(addWith({ caFile: '/etc/clusters/../passwd' })).rejects.toMatchObject(refused)
    expect(fleet.list()).toEqual([])
    const { id } = (await addWith({ tokenFile: '/etc/clusters/token' })).stored
    const moved = { ...none, tokenFile: '/proc/self/environ' }
    await expect(commands.update(id, { kubernetes: moved })).rejects.toMatchObject(refused)
    expect(fleet.get(id)!.stored.kubernetes?.tokenFile).toBe('/etc/clusters/token')
  })
})

describe('a node that is removed', () => {
  it('disappears for all clients at once, and other commands do not wait for its cleanup', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const forgetting = Promise.withResolvers<void>()
    forgetNode = () => forgetting.promise
    const removed = commands.remove(id, { force: false })
    const { stored } = await add('http://eu-3:6800/')
    expect((await commands.setMode(stored.id, 'cordoned')).stored.mode).toBe('cordoned')
    await expect(commands.remove(id, { force: false })).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' })
    // After a crash, an operator must be able to remove the node again.
    expect((await temporary.store.listNodes()).map((node) => node.id)).toContain(id)
    forgetting.resolve()
    await removed
    expect((await temporary.store.listNodes()).map((node) => node.id)).toEqual([stored.id])
  })
})

describe('the local node of one of several engines', () => {
  it("is added once under the name of its engine, and keeps the operator's settings", async () => {
    const { stored } = await commands.addEngine('north')
    expect(stored).toMatchObject({ name: 'north', kind: 'engine', url: 'engine:north', mode: 'active', slots: null })
    await commands.update(stored.id, { name: 'Frankfurt', slots: 3, url: 'http://eu-1:6800/' })
    const again = await commands.addEngine('north')
    expect(again.stored).toMatchObject({ id: stored.id, name: 'Frankfurt', slots: 3, url: 'engine:north' })
    expect(fleet.list()).toHaveLength(1)
  })

  it('can be removed only while its engine is not running, because it would be added again', async () => {
    const [north, south] = [await commands.addEngine('north'), await commands.addEngine('south')]
    await expect(commands.remove(north.stored.id, { force: true })).rejects.toMatchObject({ code: 'NODE_IS_LOCAL' })
    await commands.remove(south.stored.id, { force: false })
    expect(fleet.list().map(({ stored }) => stored.name)).toEqual(['north'])
  })
})

describe('the settings of a node', () => {
  it('change only where an update names them', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    await commands.update(id, {
      queueAhead: 3,
      giveUpAfterSeconds: 600,
      group: 'Frankfurt',
      proxyUrl: 'me:secret@proxy:3128'
    })
    const { stored } = await commands.update(id, { name: 'eu-one' })
    expect(stored).toMatchObject({ name: 'eu-one', queueAhead: 3, giveUpAfterSeconds: 600, group: 'Frankfurt' })
    expect(stored.sealedProxyUrl).toBe('http://me:secret@proxy:3128/')
    expect((await commands.update(id, { giveUpAfterSeconds: null, group: null, proxyUrl: null })).stored).toMatchObject(
      {
        giveUpAfterSeconds: null,
        group: null,
        sealedProxyUrl: null
      }
    )
  })

  it('show a proxy without its password, and keep the password when the shown text comes back', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const node = await commands.update(id, { proxyUrl: 'http://me:secret@proxy:3128' })
    expect(node.proxyUrl).toBe('http://proxy:3128/')
    expect((await commands.update(id, { proxyUrl: node.proxyUrl })).stored.sealedProxyUrl).toContain('me:secret@')
    expect((await commands.update(id, { proxyUrl: 'direct' })).proxyUrl).toBe('direct')
  })

  it('lose the password and the client key with another proxy, but keep them with the same proxy or none', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const passwordAfter = async (proxyUrl: string | null, more: { password?: string } = {}) =>
      (await commands.update(id, { proxyUrl, ...more })).stored.sealedPassword
    expect(await passwordAfter('http://proxy:3128', { password: 'p' })).not.toBeNull()
    expect(await passwordAfter('http://me:new@proxy:3128')).not.toBeNull()
    expect(await passwordAfter('direct')).not.toBeNull()
    expect(await passwordAfter('http://proxy:3128')).toBeNull()
    expect(await passwordAfter('http://evil:3128', { password: 'p' })).not.toBeNull()
    expect(await passwordAfter('http://proxy:3128')).toBeNull()
  })

  it('are used by a probe: CA and proxy always, the client key at its origin, the password never', async () => {
    const caCertificate = rootCertificates[0]!
    const { stored } = await add('http://eu-1:6800/')
    fleet.update({
      ...stored,
      username: 'ann',
      sealedPassword: asSealedText('p'),
      caCertificate,
      clientCertificate: 'c',
      sealedClientKey: asSealedText('k'),
      sealedProxyUrl: asSealedText('http://a:b@p:1/')
    })
    const of = (url: string, more = {}) => commands.addressLike(stored.id, { url, ...more })
    const kept = { caCertificate, proxyUrl: 'http://a:b@p:1/' }
    expect(await of('eu-1/base')).toEqual({
      address: { url: 'eu-1/base', ...kept, clientCertificate: 'c', clientKey: 'k' },
      keepsPassword: true
    })
    expect(await of('eu-9')).toEqual({
      address: { url: 'eu-9', ...kept, clientCertificate: null, clientKey: null },
      keepsPassword: false
    })
    expect(await of('eu-9', { proxyUrl: 'direct', username: 'me', password: 'q' })).toMatchObject({
      address: { proxyUrl: 'direct', username: 'me', password: 'q' }
    })
    expect((await of('eu-1', { proxyUrl: 'other:1' })).keepsPassword).toBe(false)
    expect((await of('https://eu-1:6800')).keepsPassword).toBe(false)
    expect((await of('eu-1', { proxyUrl: 'direct' })).keepsPassword).toBe(true)
  })

  it('are refused as a whole if a certificate lacks its key or the proxy is invalid', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const bad = [{ clientKey: 'x' }, { clientCertificate: 'x' }, { proxyUrl: 'socks5://a' }, { caCertificate: 'x' }]
    for (const input of bad) {
      await expect(commands.update(id, { name: 'other', ...input })).rejects.toMatchObject({
        code: 'NODE_CONNECTION_INVALID'
      })
      await expect(commands.add({ url: 'http://eu-3:6800/', scrapydVersion: null, ...input })).rejects.toMatchObject({
        code: 'NODE_CONNECTION_INVALID'
      })
    }
    expect(fleet.list().map(({ stored }) => stored.name)).toEqual(['eu-1:6800'])
  })

  it('do not keep a client key or a password for another machine', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const { stored } = fleet.get(id)!
    fleet.update({ ...stored, clientCertificate: 'certificate', sealedClientKey: asSealedText('key') })
    const near = await commands.update(id, { url: 'http://eu-1:6800/base/' })
    expect(near.stored).toMatchObject({ clientCertificate: 'certificate', sealedClientKey: 'key', sealedPassword: 'p' })
    const far = await commands.update(id, { url: 'http://eu-3:6800/' })
    expect(far.stored).toMatchObject({ clientCertificate: null, sealedClientKey: null, sealedPassword: null })
  })

  it('do not keep them for another SSH host, where the same address is another machine', async () => {
    const passwordAfter = async (before: string, after: string) => {
      const { id } = (await add(before)).stored
      const { sealedPassword } = (await commands.update(id, { url: after })).stored
      await commands.remove(id, { force: false })
      return sealedPassword
    }
    const behind = 'ssh://ops@bastion/http://10.0.0.5:6800/'
    expect(await passwordAfter(behind, `${behind}base/`)).toBe('p')
    for (const after of ['http://10.0.0.5:6800/', behind.replace('bastion', 'other'), behind.replace('ops@', '')]) {
      expect(await passwordAfter(behind, after)).toBeNull()
    }
  })

  it('allow no proxy for a node behind an SSH host', async () => {
    const url = 'ssh://ops@bastion/http://10.0.0.5:6800/'
    const refused = { code: 'NODE_CONNECTION_INVALID', message: expect.stringContaining('ProxyJump') }
    await expect(commands.add({ url, proxyUrl: 'proxy:3128', scrapydVersion: null })).rejects.toMatchObject(refused)
    const { stored } = await commands.add({ url, proxyUrl: 'direct', scrapydVersion: null })
    expect([stored.name, stored.url]).toEqual(['10.0.0.5:6800', url])
    await expect(commands.update(stored.id, { proxyUrl: 'proxy:3128' })).rejects.toMatchObject(refused)
    const near = await commands.add({ url: 'http://eu-1:6800/', proxyUrl: 'proxy:3128', scrapydVersion: null })
    await expect(commands.update(near.stored.id, { url: 'ssh://b/http://x' })).rejects.toMatchObject(refused)
    const moved = await commands.update(near.stored.id, { url: 'ssh://b/http://localhost', proxyUrl: null })
    expect(moved.stored.url).toBe('ssh://b/http://localhost:6800/')
    expect((await add('ssh://b/http://localhost:6801')).stored.name).toBe('b')
  })
})

describe('a job that another client started on a node', () => {
  const start = (node: FakeNode, jobid: string) =>
    node.schedule({
      project: SHOP,
      version: aVersionName('1'),
      spider: 'prices',
      jobid,
      settings: {},
      args: {},
      priority: 0
    })

  async function withTheirJobs() {
    const { id } = (await add('http://eu-1:6800/')).stored
    const node = fleet.get(id)!.client as FakeNode
    for (const jobid of ['a', 'b', 'c']) await start(node, jobid)
    const { running, pending } = await node.listJobs()
    fleet.get(id)!.status.external = { running, pending }
    return { id, node }
  }

  it('is adopted unchanged, running or waiting, and tracked from then on', async () => {
    const { id } = await withTheirJobs()
    const running = await commands.adoptExternal(id, { project: SHOP, jobid: 'a' })
    const waiting = await commands.adoptExternal(id, { project: SHOP, jobid: 'c' })
    expect(running).toMatchObject({ jobid: 'a', source: 'adopted', state: 'running', nodeId: id, version: null })
    expect(waiting).toMatchObject({ jobid: 'c', source: 'adopted', state: 'starting' })
    expect(live.ofNode(id).map(({ jobid, state }) => [jobid, state])).toEqual([
      ['a', 'running'],
      ['c', 'accepted']
    ])
    expect(fleet.get(id)!.status.external).toMatchObject({ running: [{ jobid: 'b' }], pending: [] })
  })

  it('is tracked as soon as it is written: a failing read afterwards leaves no untracked job', async () => {
    const { id } = await withTheirJobs()
    const { listAttempts, getJob } = temporary.store
    const fails = async () => Promise.reject(new Error('disk'))
    Object.assign(temporary.store, { listAttempts: fails, getJob: fails })
    await expect(commands.adoptExternal(id, { project: SHOP, jobid: 'a' })).rejects.toThrow('disk')
    Object.assign(temporary.store, { listAttempts, getJob })
    const [followed] = live.ofNode(id)
    const [written] = await temporary.store.listAttempts(followed!.jobId)
    const { jobid, project, spider, state, sentAtMs, startedAtMs, version } = written!
    expect(followed).toMatchObject({ jobid, project, spider, state, sentAtMs, startedAtMs, version })
    expect(state).toBe('running')
  })

  it('is adopted once, and not at all if it is gone', async () => {
    const { id } = await withTheirJobs()
    const twice = [1, 2].map(() => commands.adoptExternal(id, { project: SHOP, jobid: 'a' }))
    const [first, second] = await Promise.allSettled(twice)
    expect(first!.status).toBe('fulfilled')
    expect(second).toMatchObject({ reason: { code: 'JOB_IS_OURS', data: { jobId: live.ofNode(id)[0]!.jobId } } })
    await expect(commands.adoptExternal(id, { project: SHOP, jobid: 'x' })).rejects.toMatchObject({
      code: 'EXTERNAL_JOB_GONE'
    })
  })

  it.each([
    [{ project: aProjectName('../../eggs'), spider: 'prices', jobid: 'a' }, 'its project contains a slash'],
    [{ project: SHOP, spider: 'pri\0ces', jobid: 'a' }, 'its spider contains a control character'],
    [{ project: SHOP, spider: 'prices', jobid: 'x'.repeat(201) }, 'its jobid is longer than 200 bytes']
  ])('is not adopted if its names are not valid as file names: %j', async (names, problem) => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const job = { ...names, pid: null, startTime: null, endTime: null, exit: null }
    fleet.get(id)!.status.external = { running: [job], pending: [] }
    await expect(commands.adoptExternal(id, names)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(problem)
    })
    expect(live.ofNode(id)).toEqual([])
  })

  it('is shown with invisible characters in its names escaped, and can be cancelled by that name', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    const node = fleet.get(id)!.client as FakeNode
    await node.schedule({
      project: aProjectName('sh\u2066op'),
      version: aVersionName('1'),
      spider: 'pri\u202eces',
      jobid: 'a\u001bb',
      settings: {},
      args: {},
      priority: 0
    })
    const { running, pending } = await node.listJobs()
    fleet.get(id)!.status.external = { running, pending }
    const [run] = describeNode(fleet.get(id)!, live, null, null).runs
    expect(run).toMatchObject({ project: 'sh⟨U+2066⟩op', spider: 'pri⟨U+202E⟩ces', jobid: 'a⟨U+001B⟩b' })
    const named = { project: run!.project, jobid: run!.jobid }
    await expect(commands.adoptExternal(id, named)).rejects.toMatchObject({ code: 'BAD_INPUT' })
    expect(await commands.cancelExternal(id, named)).toBe('running')
    expect(node.running[0]!.signals).toEqual(['INT'])
  })

  it('gets one signal, or leaves the queue of its node; this does not work for our own jobs', async () => {
    const { id, node } = await withTheirJobs()
    expect(await commands.cancelExternal(id, { project: SHOP, jobid: 'b' })).toBe('running')
    expect(node.running.find(({ jobid }) => jobid === 'b')!.signals).toEqual(['INT'])
    expect(await commands.cancelExternal(id, { project: SHOP, jobid: 'c' })).toBe('pending')
    expect(await commands.cancelExternal(id, { project: SHOP, jobid: 'x' })).toBe(null)
    await commands.adoptExternal(id, { project: SHOP, jobid: 'a' })
    await expect(commands.cancelExternal(id, { project: SHOP, jobid: 'a' })).rejects.toMatchObject({
      code: 'JOB_IS_OURS'
    })
  })
})

describe('nodes that discovery finds', () => {
  const found = (url: string, sourceId = 'k8s') => ({
    url,
    name: 'scrapyd',
    sourceId: aSourceId(sourceId),
    scrapydVersion: null
  })
  const rows = () => fleet.list().map(({ stored }) => [stored.name, stored.url, stored.sourceId])

  it('are added together, each address once, with unique names, and survive a restart', async () => {
    await add('http://eu-1:6800/')
    await commands.addMany([found('http://eu-1:6800/'), found('http://eu-3:6800/'), found('eu-3'), found('eu-4')])
    expect(rows()).toEqual([
      ['eu-1:6800', 'http://eu-1:6800/', null],
      ['scrapyd', 'http://eu-3:6800/', 'k8s'],
      ['scrapyd-2', 'http://eu-4:6800/', 'k8s']
    ])
    expect((await temporary.store.listNodes()).filter(({ sourceId }) => sourceId === 'k8s')).toHaveLength(2)
  })

  it('belong to no source once theirs is removed', async () => {
    await commands.addMany([found('http://eu-3:6800/', 'a'), found('http://eu-4:6800/', 'b')])
    await commands.releaseAllBut(['b'])
    expect(rows().map(([, , sourceId]) => sourceId)).toEqual([null, 'b'])
    expect((await temporary.store.listNodes()).map(({ sourceId }) => sourceId).sort()).toEqual(['b', null])
  })
})
