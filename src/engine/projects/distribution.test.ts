import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import type { Deployment } from '../../shared/contract/index.ts'
import { aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anEgg } from '../testing/archives.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Distribution } from './distribution.ts'
import { type EggToSend, Projects } from './projects.ts'

const N1 = aNodeId('n1')
const N2 = aNodeId('n2')
const OLD = aProjectName('old')
const SHOP = aProjectName('shop')
const V1 = aVersionName('1')
const V3 = aVersionName('3')

/** Two nodes that record what they receive; `answer` sets the result. */
async function openRoom({ hasPython = true } = {}) {
  const temporary = await openTemporaryStore()
  const clock = createFakeClock()
  const releases: Record<string, string> = {}
  const projects = await Projects.open({
    store: temporary.store,
    blobs: await openFilesystemBlobStore(join(temporary.directory, 'blobs')),
    incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
    eggDirectory: join(temporary.directory, 'eggs'),
    listSpidersOfEgg: hasPython ? async () => ['prices'] : null,
    scrapydVersionOf: (nodeId) => releases[nodeId] ?? null,
    clock,
    logger: silentLogger
  })
  const room = {
    projects,
    clock,
    releases,
    sent: [] as string[],
    eggs: new Set<EggToSend>(),
    gone: new Set<string>(['gone']),
    changes: 0,
    answer: async (_nodeId: string): Promise<void> => {},
    listed: async (nodeId: string): Promise<string[]> => ['prices', `only on ${nodeId}`],
    [Symbol.asyncDispose]: temporary.remove
  }
  const distribution = new Distribution({
    projects,
    clock,
    importErrorOf: (error) => (error as Error).message.match(/cannot import .*/)?.[0] ?? null,
    clientOf: (nodeId) =>
      room.gone.has(nodeId)
        ? null
        : {
            addVersion(project, version, egg) {
              room.eggs.add(egg)
              room.sent.push(`${nodeId} ${project} ${version} ${egg.sizeBytes > 0}`)
              return room.answer(nodeId)
            },
            listSpiders: () => room.listed(nodeId)
          }
  })
  distribution.events.on('changed', () => void room.changes++)
  await projects.upload(await anEgg(), { version: V1 })
  return Object.assign(room, { distribution })
}

test('an egg is sent once, however many jobs need it, and is then present', async () => {
  await using t = await openRoom()
  let accept = () => {}
  t.answer = () => new Promise((resolve) => (accept = resolve))
  const asked = [t.distribution.ensure(N1, SHOP, V1), t.distribution.ensure(N1, SHOP, V1)]
  await vi.waitFor(() => expect(t.sent).toHaveLength(1))
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('sending')
  accept()
  await Promise.all(asked)
  expect(t.sent).toEqual(['n1 shop 1 true'])
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('present')
  expect(t.changes).toBe(1)
  await t.distribution.ensure(N1, SHOP, V1)
  expect(t.sent).toHaveLength(1)
})

test('without Python, the first node that gets an egg lists its spiders', async () => {
  await using t = await openRoom({ hasPython: false })
  expect(t.projects.catalog.find(aProjectName('shop'), aVersionName('1'))?.spiders).toBeNull()
  await t.distribution.ensure(aNodeId('n1'), aProjectName('shop'), aVersionName('1'))
  await t.distribution.ensure(aNodeId('n2'), aProjectName('shop'), aVersionName('1'))
  expect(t.projects.catalog.spidersOf(aProjectName('shop'), aVersionName('1'))).toEqual(['prices', 'only on n1'])
})

test('spiders that a node lists for an egg replaced meanwhile are not assigned to the new egg', async () => {
  await using t = await openRoom({ hasPython: false })
  const late = Promise.withResolvers<string[]>()
  t.listed = vi.fn(() => late.promise)
  const first = t.distribution.ensure(N1, SHOP, V1)
  await vi.waitFor(() => expect(t.listed).toHaveBeenCalled())
  await t.projects.upload(await anEgg([{ name: 'content.txt', content: '2' }]), { version: V1 })
  const second = t.distribution.ensure(N1, SHOP, V1)
  t.listed = async () => ['new']
  late.resolve(['old'])
  await first
  expect(t.projects.catalog.find(SHOP, V1)?.spiders).toBeNull()
  await second
  expect(t.sent).toHaveLength(2)
  expect(t.distribution.isPresent(N1, SHOP, V1)).toBe(true)
  expect(t.projects.catalog.find(SHOP, V1)?.spiders).toEqual(['new'])
})

test('after a failure a node is left alone for 30 s, doubling each time up to 10 min', async () => {
  await using t = await openRoom()
  t.answer = async () => {
    throw new Error('n1 is full')
  }
  for (const waitMs of [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
    await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow('n1 is full')
    const sentBefore = t.sent.length
    await t.clock.advanceBy(waitMs - 1)
    expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('never')
    await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow('n1 is full')
    expect(t.sent).toHaveLength(sentBefore)
    const changesBefore = t.changes
    await t.clock.advanceBy(1)
    expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('absent')
    expect(t.changes).toBe(changesBefore + 1)
  }
  const failed = t.projects.catalog
    .find(aProjectName('shop'), aVersionName('1'))!
    .deployments.find(({ nodeId }) => nodeId === 'n1')
  expect(failed).toMatchObject({ state: 'failed', error: 'n1 is full' })
})

test('every egg of ours is on the local node at once; a version that only nodes have cannot be sent', async () => {
  await using t = await openRoom()
  expect(t.distribution.isPresent(aNodeId('local'), SHOP, V1)).toBe(true)
  await t.projects.recordSeenOnNode(N1, OLD, [V3])
  expect(t.distribution.stateOf(N1, OLD, V3)).toBe('present')
  expect(t.distribution.stateOf(N2, OLD, V3)).toBe('never')
  expect(t.distribution.stateOf(aNodeId('local'), OLD, V3)).toBe('never')
  await expect(t.distribution.ensure(N2, OLD, V3)).rejects.toMatchObject({ code: 'VERSION_NOT_FOUND' })
})

test('a deployment to many nodes reports each step, retries failed nodes, and ends whatever fails', async () => {
  await using t = await openRoom()
  t.answer = async () => {
    throw new Error('no')
  }
  await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow()
  t.answer = async (nodeId) => {
    if (nodeId === 'n2') throw new Error('n2 is full')
  }
  const steps: Deployment[] = []
  for await (const step of t.distribution.deployToAll(SHOP, V1, [aNodeId('local'), N1, N2, aNodeId('gone')]))
    steps.push(step)
  const of = (nodeId: string) => steps.filter((step) => step.nodeId === nodeId).map(({ state }) => state)
  expect(of('local')).toEqual(['present'])
  expect(of('n1')).toEqual(['sending', 'present'])
  expect(of('n2')).toEqual(['sending', 'failed'])
  expect(steps.find((step) => step.nodeId === 'gone' && step.state === 'failed')!.error).toBe('The node was removed.')
})

test('an egg that was replaced during its upload is not present', async () => {
  await using t = await openRoom()
  let accept = () => {}
  t.answer = () => new Promise((resolve) => (accept = resolve))
  const asked = t.distribution.ensure(N1, SHOP, V1)
  await vi.waitFor(() => expect(t.sent).toHaveLength(1))
  await t.projects.upload(await anEgg([{ name: 'shop/new.py' }]), { version: V1 })
  accept()
  await asked
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('absent')
})

test('a version that a node turns out not to know is absent there', async () => {
  await using t = await openRoom()
  await t.distribution.ensure(N1, SHOP, V1)
  await t.distribution.forget(N1, SHOP, V1)
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('absent')
})

test('a full disk is a failure with a back-off, too', async () => {
  await using t = await openRoom()
  t.projects.recordDeployment = () => Promise.reject(new Error('the disk is full'))
  await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow('the disk is full')
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('never')
})

test('a new egg under the name of one that failed does not wait for its back-off', async () => {
  await using t = await openRoom()
  t.answer = async () => {
    throw new Error('does not import')
  }
  await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow('does not import')
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('never')
  await t.projects.upload(await anEgg([{ name: 'shop/mended.py' }]), { version: V1 })
  expect(t.distribution.stateOf(N1, SHOP, V1)).toBe('absent')
})

test('an egg that goes to many nodes at once is read from disk as it is sent', async () => {
  await using t = await openRoom()
  let accept = () => {}
  const accepted = new Promise<void>((resolve) => (accept = resolve))
  t.answer = () => accepted
  const asked = ['n1', 'n2', 'n3'].map((nodeId) => t.distribution.ensure(aNodeId(nodeId), SHOP, V1))
  await vi.waitFor(() => expect(t.sent).toHaveLength(3))
  accept()
  await Promise.all(asked)
  const eggs = [...t.eggs]
  const contents = await Promise.all(eggs.map(async (egg) => buffer(await egg.open())))
  expect(contents.map((content) => createHash('sha256').update(content).digest('hex'))).toEqual(
    eggs.map(({ sha256 }) => sha256)
  )
  expect(eggs).toHaveLength(3)
})

test('the import error of a node is kept until it accepts the egg, or the egg is replaced', async () => {
  await using t = await openRoom()
  const errors = () =>
    Object.fromEntries([...t.distribution.importErrors(SHOP, V1)].map(([id, { output }]) => [id, output]))
  t.answer = async (nodeId) => {
    throw new Error(nodeId === 'n1' ? 'cannot import x' : 'no room')
  }
  await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow()
  await expect(t.distribution.ensure(N2, SHOP, V1)).rejects.toThrow()
  expect(errors()).toEqual({ n1: 'cannot import x' })
  await t.clock.advanceBy(60_000)
  expect(errors()).toEqual({ n1: 'cannot import x' })
  t.answer = async () => {}
  await t.distribution.ensure(N1, SHOP, V1)
  expect(errors()).toEqual({})
  t.answer = async () => {
    throw new Error('cannot import y')
  }
  await t.projects.upload(await anEgg([{ name: 'other.txt', content: '1' }]), { version: V1 }, { inUse: 'allow' })
  await expect(t.distribution.ensure(N2, SHOP, V1)).rejects.toThrow()
  expect(errors()).toEqual({ n2: 'cannot import y' })
  await t.projects.upload(await anEgg([{ name: 'other.txt', content: '2' }]), { version: V1 }, { inUse: 'allow' })
  expect(errors()).toEqual({})
})

test('import errors are deleted with the egg or the node, and only the end of a long one is kept', async () => {
  await using t = await openRoom()
  t.answer = async (nodeId) => {
    throw new Error(`cannot import ${'x'.repeat(5_000)} on ${nodeId}`)
  }
  const fail = (nodeId: typeof N1) => expect(t.distribution.ensure(nodeId, SHOP, V1)).rejects.toThrow()
  const told = () => [...t.distribution.importErrors(SHOP, V1).keys()]
  await Promise.all([fail(N1), fail(N2)])
  const { output, atMs } = t.distribution.importErrors(SHOP, V1).get(N1)!
  expect([output.length, output.slice(-8), atMs]).toEqual([2_000, 'xx on n1', t.clock.nowMs()])
  expect([...t.distribution.projectsWithImportErrors()]).toEqual([SHOP])
  t.gone.add(N1)
  await t.distribution.forgetNode(N1)
  expect(told()).toEqual([N2])
  await expect(t.distribution.ensure(N1, SHOP, V1)).rejects.toThrow()
  expect(told()).toEqual([N2])

  await t.projects.deleteVersion(SHOP, V1)
  expect([...t.distribution.projectsWithImportErrors()]).toEqual([])
  await t.projects.upload(await anEgg(), { version: V1 })
  expect([told(), t.distribution.stateOf(N2, SHOP, V1)]).toEqual([[], 'absent'])
})

test('the result for an egg replaced during its upload does not apply to the new one', async () => {
  await using t = await openRoom()
  const old = { accept: () => {}, refuse: (_error: Error) => {} }
  t.answer = (nodeId) =>
    new Promise((resolve, reject) => {
      if (nodeId === 'n1') old.accept = resolve
      else old.refuse = reject
    })
  const sent = Promise.allSettled([t.distribution.ensure(N1, SHOP, V1), t.distribution.ensure(N2, SHOP, V1)])
  await vi.waitFor(() => expect(t.sent).toHaveLength(2))
  await t.projects.upload(await anEgg([{ name: 'other.txt' }]), { version: V1 }, { inUse: 'allow' })
  t.answer = async () => {
    throw new Error('cannot import y')
  }
  const N3 = aNodeId('n3')
  await expect(t.distribution.ensure(N3, SHOP, V1)).rejects.toThrow()
  old.accept()
  old.refuse(new Error('cannot import x'))
  await sent
  expect([...t.distribution.importErrors(SHOP, V1)]).toEqual([
    [N3, { output: 'cannot import y', atMs: t.clock.nowMs() }]
  ])
  expect([N1, N2, N3].map((nodeId) => t.distribution.stateOf(nodeId, SHOP, V1))).toEqual(['absent', 'absent', 'never'])
})

test('nodes disagree on the latest version only if Scrapyd releases with different orders have the versions', async () => {
  await using t = await openRoom()
  const [older, newer] = [aVersionName('1.9'), aVersionName('1.10')]
  for (const version of [older, newer])
    await t.projects.upload(await anEgg([{ name: 'v.txt', content: version }]), { version })
  const warnings = () => t.projects.orderWarnings().map(({ project }) => project)
  await t.distribution.ensure(N1, SHOP, older)
  await t.distribution.ensure(N1, SHOP, newer)
  expect(warnings()).toEqual([])
  t.releases[N1] = '1.5+'
  expect(warnings()).toEqual([])
  await t.distribution.ensure(N2, SHOP, newer)
  expect(warnings()).toEqual([])
  t.releases[N2] = '1.3'
  expect(warnings()).toEqual([SHOP])
  expect(t.projects.describe()[0]!.versions.map(({ orderWarning }) => orderWarning)).toContainEqual(
    expect.stringContaining('jobs without one get 1.10')
  )
  await t.projects.configure(SHOP, { ...t.projects.settingsOf(SHOP), pinnedVersion: older })
  expect(warnings()).toEqual([])
  expect(t.projects.describe()[0]!.versions.map(({ orderWarning }) => orderWarning)).toEqual([null, null, null])
})
