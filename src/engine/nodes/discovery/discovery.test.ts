import { rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { NodeId, NodeMode, SourceId, SourceSettings } from '../../../shared/contract/index.ts'
import { aNodeId, aSourceId } from '../../../shared/testing/ids.ts'
import { actAs } from '../../access/acting.ts'
import { OWNER } from '../../access/principal.ts'
import { builtInRights } from '../../testing/built-in-rights.ts'
import { openFileSecretBox } from '../../runtime/file-secret-box.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { type ConfiguredSource, Discovery } from './discovery.ts'
import type { FoundNode } from './found-node.ts'

const FIXED = aSourceId('fixed')
const INVENTORY = aSourceId('inventory')
const K8S = aSourceId('k8s')

type FleetRow = { id: NodeId; url: string; mode: NodeMode; sourceId: SourceId | null; found: FoundNode | null }

async function openRoom(configured: ConfiguredSource[] = []) {
  const temporary = await openTemporaryStore()
  const clock = createFakeClock()
  const secretBox = await openFileSecretBox(join(temporary.directory, 'secret.key'))
  const path = join(temporary.directory, 'nodes.txt')
  const fleet: FleetRow[] = []
  const open: Discovery[] = []
  const room = {
    store: temporary.store,
    clock,
    path,
    fleet,
    addresses: async (): Promise<string[]> => [],
    changes: 0,
    configured,
    /** Replaces the file by renaming a temporary one, with a modification time one minute ago. */
    async write(text: string) {
      const then = new Date(clock.nowMs() - 60_000)
      await writeFile(`${path}.new`, text)
      await utimes(`${path}.new`, then, then)
      await rename(`${path}.new`, path)
    },
    async start() {
      const discovery = new Discovery({
        store: temporary.store,
        fleet: {
          list: () => fleet,
          async add(nodes) {
            for (const { sourceId, ...found } of nodes) {
              fleet.push({ id: aNodeId(`n-${fleet.length}`), url: found.url, mode: 'active', sourceId, found })
            }
          },
          async setMode(nodeId, mode) {
            for (const node of fleet) if (node.id === nodeId) node.mode = mode
          },
          async releaseAllBut(sourceIds) {
            for (const node of fleet) if (!sourceIds.includes(node.sourceId ?? '')) node.sourceId = null
          }
        },
        resolver: { addresses: () => room.addresses(), services: async () => [] },
        secretBox,
        configured: room.configured,
        clock,
        random: createSeededRandom(1),
        logger: silentLogger
      })
      discovery.events.on('changed', () => void room.changes++)
      open.push(discovery)
      await discovery.start()
      return discovery
    },
    nodes: () => fleet.map(({ url, mode, sourceId }) => `${new URL(url).hostname} ${mode} ${sourceId ?? 'by hand'}`),
    async [Symbol.asyncDispose]() {
      for (const discovery of open) await discovery.stop()
      await temporary.remove()
    }
  }
  return room
}

const dns = (values: Partial<SourceSettings> = {}): SourceSettings => ({
  id: K8S,
  source: { kind: 'dns', hostname: 'scrapyd.svc', record: 'A', scheme: 'http', port: 6800, basePath: '/' },
  refreshSeconds: 30,
  node: {},
  ...values
})
const file = (path: string): SourceSettings => ({
  id: INVENTORY,
  source: { kind: 'file', path },
  refreshSeconds: 30,
  node: {}
})

test('the addresses of a DNS name are added, cordoned when they disappear, and activated when they return', async () => {
  await using t = await openRoom()
  const discovery = await t.start()
  t.addresses = async () => ['10.0.0.1', '10.0.0.2']
  expect(await discovery.put(dns(), undefined)).toMatchObject({ found: 2, vanished: 0, problem: null })
  expect(t.nodes()).toEqual(['10.0.0.1 active k8s', '10.0.0.2 active k8s'])
  t.addresses = async () => ['10.0.0.2']
  await t.clock.advanceBy(34_000)
  await vi.waitFor(() => expect(t.nodes()).toEqual(['10.0.0.1 cordoned k8s', '10.0.0.2 active k8s']))
  expect(discovery.get(K8S)).toMatchObject({
    found: 1,
    vanished: 1,
    vanishedNodes: [{ nodeId: 'n-0', isCordonedForIt: true }]
  })
  t.addresses = async () => ['10.0.0.1', '10.0.0.2']
  expect(await discovery.refresh(K8S)).toMatchObject({ found: 2, vanished: 0, vanishedNodes: [] })
  expect(t.nodes()).toEqual(['10.0.0.1 active k8s', '10.0.0.2 active k8s'])
})

test.each([
  ['does not exist', () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })), 'does not exist'],
  ['fails', () => Promise.reject(Object.assign(new Error(), { code: 'ESERVFAIL' })), 'SERVFAIL'],
  ['takes too long', () => Promise.reject(Object.assign(new Error(), { code: 'ETIMEOUT' })), 'in time'],
  ['stands for nothing', async () => [], 'It lists no nodes']
])('a DNS name that %s leaves all nodes as they are, and is a problem of the source', async (_what, answer, words) => {
  await using t = await openRoom()
  const discovery = await t.start()
  t.addresses = async () => ['10.0.0.1']
  await discovery.put(dns(), undefined)
  t.addresses = answer
  const state = await discovery.refresh(K8S)
  expect(state.problem).toContain(words)
  expect(state).toMatchObject({ found: 1, vanished: 0, refreshedAtMs: t.clock.nowMs() })
  expect(t.nodes()).toEqual(['10.0.0.1 active k8s'])
  t.addresses = async () => ['10.0.0.1']
  expect(await discovery.refresh(K8S)).toMatchObject({ problem: null })
})

test('the reason for a cordon survives a restart; a node that the operator cordoned stays cordoned', async () => {
  await using t = await openRoom()
  const first = await t.start()
  t.addresses = async () => ['10.0.0.1', '10.0.0.2', '10.0.0.3']
  await first.put(dns(), undefined)
  t.fleet[1]!.mode = 'cordoned'
  t.addresses = async () => ['10.0.0.3']
  await first.refresh(K8S)
  await first.stop()
  const second = await t.start()
  await vi.waitFor(() => expect(second.get(K8S).refreshedAtMs).not.toBeNull())
  expect(second.get(K8S).vanishedNodes.map(({ isCordonedForIt }) => isCordonedForIt)).toEqual([true, false])
  t.addresses = async () => ['10.0.0.1', '10.0.0.2', '10.0.0.3']
  await second.refresh(K8S)
  expect(t.nodes()).toEqual(['10.0.0.1 active k8s', '10.0.0.2 cordoned k8s', '10.0.0.3 active k8s'])
})

test('a file is read when it is replaced or changed, and changes nothing when it is missing or invalid', async () => {
  await using t = await openRoom()
  const discovery = await t.start()
  await t.write('eu-1 slots=8 tags=eu\neu-2\n')
  await discovery.put({ ...file(t.path), node: { tags: ['rented'], slots: 2 } }, undefined)
  expect(t.fleet.map(({ found }) => [found!.slots, found!.tags])).toEqual([
    [8, ['rented', 'eu']],
    [2, ['rented']]
  ])
  const settled = async () => {
    await t.clock.advanceBy(300)
  }
  await t.write('eu-2\neu-3\n')
  await vi.waitFor(async () => {
    await settled()
    expect(t.nodes()).toEqual(['eu-1 cordoned inventory', 'eu-2 active inventory', 'eu-3 active inventory'])
  })
  const before = t.nodes()
  await rm(t.path)
  expect((await discovery.refresh(INVENTORY)).problem).toContain('there is no such file')
  await t.write('%%%\n\u0001\n')
  expect((await discovery.refresh(INVENTORY)).problem).toMatch(/line 1: .*; line 2: .*None of it could be used/)
  await t.write('')
  expect((await discovery.refresh(INVENTORY)).problem).toContain('It lists no nodes')
  await t.write('eu-4\n%%%\n')
  expect((await discovery.refresh(INVENTORY)).problem).toContain('no node is cordoned until this is fixed')
  expect(t.nodes()).toEqual([...before, 'eu-4 active inventory'])
})

test('a source is queried again after its interval plus or minus a tenth, and never after its removal', async () => {
  await using t = await openRoom()
  const discovery = await t.start()
  let asked = 0
  t.addresses = async () => {
    asked++
    return ['10.0.0.1']
  }
  await discovery.put(dns(), undefined)
  await t.clock.advanceBy(26_900)
  expect(asked).toBe(1)
  await t.clock.advanceBy(6_200)
  expect(asked).toBe(2)
  await discovery.remove(K8S)
  await t.clock.advanceBy(120_000)
  expect(asked).toBe(2)
  expect(t.clock.timerCount()).toBe(0)
  expect(t.nodes()).toEqual(['10.0.0.1 active by hand'])
  await expect(discovery.refresh(K8S)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a password is encrypted, kept as long as the source is the same, and set on the nodes with the user name', async () => {
  await using t = await openRoom()
  const discovery = await t.start()
  t.addresses = async () => ['10.0.0.1']
  expect(await discovery.put(dns({ username: 'u' }), 'geheim')).toMatchObject({ hasPassword: true, username: 'u' })
  expect(t.fleet[0]!.found).toMatchObject({ username: 'u', password: 'geheim' })
  expect(JSON.stringify(await t.store.listSources())).not.toContain('geheim')
  expect(JSON.stringify(discovery.list())).not.toContain('geheim')
  expect(await discovery.put(dns({ username: 'u', refreshSeconds: 60 }), undefined)).toMatchObject({
    hasPassword: true
  })
  const elsewhere = { ...dns().source, hostname: 'evil.example' } as SourceSettings['source']
  expect(await discovery.put(dns({ source: elsewhere }), undefined)).toMatchObject({ hasPassword: false })
})

test('sources in the configuration are used, and changed only there; nodes that it no longer names belong to no source', async () => {
  await using t = await openRoom([{ ...dns({ id: FIXED }), source: { kind: 'list', nodes: 'eu-1\neu-2 slots=3' } }])
  const discovery = await t.start()
  await vi.waitFor(() => expect(t.nodes()).toEqual(['eu-1 active fixed', 'eu-2 active fixed']))
  expect(discovery.get(FIXED)).toMatchObject({ isFromConfiguration: true, found: 2 })
  await expect(discovery.put(dns({ id: FIXED }), undefined)).rejects.toThrow('is set in the configuration file')
  await expect(discovery.remove(FIXED)).rejects.toThrow('is set in the configuration file')
  await discovery.stop()
  t.configured = []
  expect((await t.start()).list()).toEqual([])
  expect(t.nodes()).toEqual(['eu-1 active by hand', 'eu-2 active by hand'])
})

test('nodes beyond the limit of a source are reported as its problem, and added once there is room', async () => {
  await using t = await openRoom()
  const discovery = await t.start()
  const lines = Array.from({ length: 2_001 }, (_, index) => `http://10.0.${index >> 8}.${index & 255}:6800`)
  const state = await discovery.put(
    { ...dns(), id: FIXED, source: { kind: 'list', nodes: lines.join('\n') } },
    undefined
  )
  expect(t.fleet).toHaveLength(2_000)
  expect(state).toMatchObject({ found: 2_001, problem: expect.stringContaining('1 node that it lists was not added') })
  lines.shift()
  t.fleet.shift()
  const corrected = { ...dns(), id: FIXED, source: { kind: 'list' as const, nodes: lines.join('\n') } }
  expect(await discovery.put(corrected, undefined)).toMatchObject({ found: 2_000, problem: null })
  expect(t.fleet.at(-1)!.url).toBe('http://10.0.7.208:6800/')
})

test('only owners can name a file of this machine, because its lines become addresses that everyone sees', async () => {
  await using t = await openRoom()
  await t.write('hunter2\n')
  const discovery = await t.start()
  const as = (role: 'admin' | 'owner', settings: SourceSettings) =>
    actAs({ ...OWNER, userId: 'a'.repeat(32) as never, name: role, role, rights: builtInRights(role) }, () =>
      discovery.put(settings, undefined)
    )
  const refused = {
    code: 'ROLE_REQUIRED',
    message: expect.stringContaining('Naming a file on the machine of Scrapdeck')
  }
  await expect(as('admin', file(t.path))).rejects.toMatchObject(refused)
  expect([discovery.list(), t.nodes()]).toEqual([[], []])
  expect(await as('admin', dns())).toMatchObject({ id: K8S })
  await expect(as('admin', { ...file(t.path), id: K8S })).rejects.toMatchObject(refused)
  expect(await as('owner', file(t.path))).toMatchObject({ found: 1 })
  // A user who can change nodes can still change the refresh interval.
  expect(await as('admin', { ...file(t.path), refreshSeconds: 60 })).toMatchObject({ refreshSeconds: 60 })
  await expect(as('admin', file(`${t.path}.other`))).rejects.toMatchObject(refused)
})
