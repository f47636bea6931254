import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Attempt } from '../../shared/contract/index.ts'
import { LiveAttempts } from '../dispatch/live-attempts.ts'
import { Fleet } from '../nodes/fleet.ts'
import { createJobIds } from '../runtime/ids.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anAttemptStart } from '../testing/builders.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../testing/temporary-store.ts'
import { NodeCommands } from './node-commands.ts'

const clock = createFakeClock()
let temporary: TemporaryStore
let fleet: Fleet
let commands: NodeCommands
let live: LiveAttempts
let moved: string[]

beforeEach(async () => {
  temporary = await openTemporaryStore({ clock })
  live = new LiveAttempts()
  moved = []
  fleet = new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    createClient: async ({ url }) => {
      const node = new FakeNode(clock, { slots: 2 })
      node.isDown = url.includes('eu-2')
      return node
    },
    isBusy: () => false,
    wantsSnapshot: () => false,
    onSnapshot: async () => {},
    onStatus: () => {}
  })
  commands = new NodeCommands({
    store: temporary.store,
    fleet,
    live,
    projects: { forgetNode: async () => {} },
    dispatch: {
      wake: () => {},
      abandonNode: async () => {},
      noteAddressChanged: async (id) => void moved.push(id)
    },
    secretBox: { store: 'file', description: '', seal: async (text) => text, open: async (text) => text },
    clock,
    random: createSeededRandom(2),
    newJobId: createJobIds(clock, createSeededRandom(3))
  })
})

afterEach(async () => {
  await fleet.stop()
  await temporary.remove()
})

const add = (url: string) => commands.add({ url, password: 'p', scrapydVersion: null })

describe('orders about nodes that come at once', () => {
  it('the address stays while nobody knows whether a job arrived there; what was sent meanwhile is given up', async () => {
    const { stored } = await add('http://eu-1:6800/')
    const attempt = {
      ...anAttemptStart({ id: 'a'.repeat(32) }),
      state: 'uncertain',
      nodeId: stored.id
    } as unknown as Attempt
    const one = live.add(attempt, { settledAtMs: 0, cancelAskedAtMs: null })
    await expect(commands.update(stored.id, { url: 'http://eu-9:6800/' })).rejects.toMatchObject({ code: 'NODE_BUSY' })
    expect(fleet.get(stored.id)?.stored.url).toBe('http://eu-1:6800/')
    await commands.update(stored.id, { name: 'one' })
    expect(moved).toEqual([])
    live.remove(one)
    await commands.update(stored.id, { url: 'http://eu-9:6800/' })
    expect(moved).toEqual([stored.id])
  })

  it('one address added twice is one node, and the second is told so', async () => {
    const [first, second] = await Promise.allSettled([add('http://eu-1:6800/'), add('http://eu-1:6800/')])
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected'])
    expect(second).toMatchObject({ reason: { code: 'NODE_DUPLICATE' } })
    expect(fleet.list()).toHaveLength(1)
  })

  it('a cordon is not undone by somebody who edits the name at the same moment', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    await Promise.all([commands.update(id, { name: 'Frankfurt' }), commands.setMode(id, 'cordoned')])
    expect(fleet.get(id)!.stored).toMatchObject({ name: 'Frankfurt', mode: 'cordoned' })
    expect((await temporary.store.listNodes())[0]).toMatchObject({ name: 'Frankfurt', mode: 'cordoned' })
  })

  it('a node that is drained while somebody takes it back into use stays in use', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    fleet.update({ ...fleet.get(id)!.stored, mode: 'draining' })
    await Promise.all([commands.setMode(id, 'active'), commands.noteDrained(id)])
    expect(fleet.get(id)!.stored.mode).toBe('active')
  })

  it('a node at another address is not judged by what was seen at the old one', async () => {
    const { id } = (await add('http://eu-1:6800/')).stored
    await clock.advanceBy(1_000)
    expect(fleet.get(id)!.status.health).toBe('up')
    const moved = await commands.update(id, { url: 'http://eu-2:6800/' })
    expect(moved.status.health).not.toBe('up')
  })
})
