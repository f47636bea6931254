import pLimit from 'p-limit'
import { expect, test } from 'vitest'
import { aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import type { VersionChange } from '../model/records.ts'
import { aVersion } from '../testing/builders.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { Catalog } from './catalog.ts'
import { KEPT_MAX, SeenOnNodes } from './seen-on-nodes.ts'

const N1 = aNodeId('n1')

/** `written`: all transactions. `write`: what the store does on each. */
function openSeen({ write = async () => {} }: { write?: () => Promise<void> } = {}) {
  const catalog = new Catalog()
  const written: VersionChange[][] = []
  const exclusively = pLimit(1)
  const nodes = new Set<string>(['n1', 'n2'])
  const clock = createFakeClock()
  const seen = new SeenOnNodes({
    store: {
      async changeVersions(changes) {
        await write()
        written.push(changes)
      }
    },
    catalog,
    exclusively: (change) => exclusively(change),
    hasNode: (nodeId) => nodes.has(nodeId),
    clock
  })
  const look = (
    versions: string[],
    more: { project?: string; nodeId?: string; askedAtMs?: number; spiders?: string[] } = {}
  ) =>
    seen.recordSeen({
      nodeId: aNodeId(more.nodeId ?? 'n1'),
      project: aProjectName(more.project ?? 'shop'),
      versions: versions.map(aVersionName),
      spiders: more.spiders ?? null,
      askedAtMs: more.askedAtMs ?? clock.nowMs()
    })
  const known = () =>
    catalog
      .all()
      .map(({ version }) => version as string)
      .sort()
  return { seen, catalog, written, exclusively, nodes, look, known }
}

const names = (count: number, prefix = 'v') => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

test('of a node that lists endless versions, the newest are recorded, and none counts as gone', async () => {
  const t = openSeen()
  const versions = names(10_002)
  await t.look(['v0', 'v1'])
  await t.look(versions)
  expect(t.known()).toHaveLength(10_002)
  await t.look([...versions, 'w'])
  await t.look(['x', ...versions])
  expect(t.known()).not.toContain('x')
  expect(t.written.flat().flatMap((one) => (one.kind === 'delete' ? [one.version] : []))).toEqual(['w'])
})

test('a long listing takes a few transactions, and an upload runs between them', async () => {
  const t = openSeen()
  const listing = t.look(names(5_000))
  const knownAtUpload = t.exclusively(async () => t.known().length)
  await listing
  expect(await knownAtUpload).toBeLessThan(2_000)
  expect(t.known()).toHaveLength(5_000)
  expect(t.written.length).toBeLessThanOrEqual(5)
  await t.look(names(5_000))
  expect(t.written.length).toBeLessThanOrEqual(5)
  t.nodes.delete('n1')
  await t.seen.forgetNode(N1)
  expect(t.known()).toEqual([])
  expect(t.written.length).toBeLessThanOrEqual(10)
})

test('what a node no longer lists is removed, even if it was recorded after the request', async () => {
  const t = openSeen()
  await t.look(names(3, 'a'))
  await t.look(names(3, 'b'), { askedAtMs: 0 })
  expect(t.known()).toEqual(names(3, 'b'))
  await t.seen.recordProjects(N1, ['other'], 0)
  expect(t.known()).toEqual([])
})

test('the number of versions kept for one node is limited, whatever it lists in whatever order; the newest are kept', async () => {
  const t = openSeen()
  for (let round = 0; round < 4; round += 1) {
    // The node lists all projects each time. After the first round, a different project exceeds the limit each time.
    await t.seen.recordProjects(N1, ['p0', 'p1', 'p2', 'p3'], 0)
    const exceeded = await t.look(names(9_000), { project: `p${round}` })
    expect(exceeded).toEqual(round < 2 ? [] : ['versions'])
  }
  expect(t.known()).toHaveLength(KEPT_MAX.versions)
  expect(t.catalog.find(aProjectName('p2'), aVersionName('v8999'))).not.toBeNull()
  expect(t.catalog.find(aProjectName('p2'), aVersionName('v0'))).toBeNull()
  expect(await t.look(['1'], { nodeId: 'n2', project: 'p3' })).toEqual([])
})

test('the number of spiders kept for one node is limited, too', async () => {
  const t = openSeen()
  const versions = ['1', '2', '3']
  const exceeded = []
  for (const [index] of versions.entries()) {
    exceeded.push(await t.look(versions.slice(0, index + 1), { spiders: names(20_000, `s${index}-`) }))
  }
  expect(exceeded).toEqual([[], [], ['spiders']])
  expect(t.catalog.all().map(({ spiders }) => spiders?.length ?? 0)).toEqual([20_000, 20_000, 0])
})

test('spiders that a node lists belong to our egg only if that was sent to it before the request', async () => {
  const t = openSeen()
  const [shop, version] = [aProjectName('shop'), aVersionName('1')]
  const ours = aVersion({ project: shop, version, sha256: 'new', spiders: null, deployments: [] })
  const spidersWith = async (state: 'present' | 'foreign', sha256: string | null, changedAtMs: number) => {
    t.catalog.remember({ ...ours, deployments: [{ nodeId: N1, state, sha256, error: null, changedAtMs }] })
    await t.look(['1'], { spiders: ['prices'], askedAtMs: 10 })
    return t.catalog.find(shop, version)?.spiders
  }
  expect(await spidersWith('foreign', null, 5)).toBeNull()
  expect(await spidersWith('present', 'old', 5)).toBeNull()
  expect(await spidersWith('present', 'new', 10)).toBeNull()
  expect(await spidersWith('present', 'new', 5)).toEqual(['prices'])
})

test('nothing is recorded for a node that was removed while it was read', async () => {
  const t = openSeen()
  const listing = t.look(names(3_000))
  t.nodes.delete('n1')
  const forgetting = t.seen.forgetNode(N1)
  await Promise.all([listing, forgetting])
  expect(t.known()).toEqual([])
  await t.look(['1'])
  await t.seen.recordProjects(N1, [], 0)
  expect(t.known()).toEqual([])
})

test('a version that is uploaded while its node is forgotten stays', async () => {
  const t = openSeen()
  await t.look(names(3_000))
  t.nodes.delete('n1')
  const forgetting = t.seen.forgetNode(N1)
  const uploaded = t.exclusively(async () => {
    const before = t.catalog.find(aProjectName('shop'), aVersionName('v0'))
    if (before !== null) t.catalog.remember({ ...before, sha256: aVersion().sha256, sizeBytes: 1 })
    return before?.version
  })
  await forgetting
  expect(await uploaded).toBe('v0')
  expect(t.known()).toEqual(['v0'])
  expect(t.catalog.all()[0]!.deployments).toEqual([])
})

test('what could not be written counts as unknown', async () => {
  let isFull = false
  const t = openSeen({ write: async () => (isFull ? Promise.reject(new Error('disk full')) : undefined) })
  await t.look(['1'])
  isFull = true
  await expect(t.look(['1', '2'])).rejects.toThrow('disk full')
  expect(t.known()).toEqual(['1'])
})
