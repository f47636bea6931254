import { describe, expect, vi } from 'vitest'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import type { ScheduleBehaviour } from '../../testing/fake-node.ts'

describe('a POST without an answer', () => {
  it('is resolved when the node has the job, which is never sent again', async ({ clock, node, other, engine }) => {
    node.behaviours = ['drop_reply']
    await engine.start({ n1: node, n2: other })
    const [id] = await engine.enqueueMany(1)
    expect(await engine.kinds(id!)).toContain('uncertain')
    await clock.advanceBy(30_000)
    expect([...node.executed, ...other.executed]).toEqual([id])
    expect((await engine.job(id!)).state).toBe('running')
  })

  it('is sent again only when two snapshots more than a poll interval apart prove that it never arrived', async ({
    clock,
    node,
    engine
  }) => {
    node.behaviours = ['lose_request']
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(4_500)
    expect(node.executed).toEqual([])
    await clock.advanceBy(5_000)
    expect(node.executed).toEqual([`${id}-2`])
    expect(await engine.kinds(id!)).toEqual([
      'queued',
      'sending',
      'uncertain',
      'absent',
      'sending',
      'accepted',
      'running'
    ])
  })

  it('holds its slot while it is uncertain', async ({ clock, node, engine }) => {
    node.behaviours = ['lose_request', 'lose_request']
    await engine.start({ n1: node })
    await engine.enqueueMany(3)
    await clock.advanceBy(4_000)
    expect(node.executed).toEqual([])
    expect(engine.live.slotsUsedOn(aNodeId('n1'))).toBe(2)
  })

  it('waits for a node that is down, which can prove nothing', async ({ clock, node, other, engine }) => {
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      node.behaviours = ['drop_reply']
      const answer = schedule(request)
      node.isDown = true
      return answer
    }
    await engine.start({ n1: node, n2: other })
    const [id] = await engine.enqueueMany(1)
    await clock.advanceBy(600_000)
    expect(other.executed).toEqual([])
    expect((await engine.job(id!)).state).toBe('starting')
  })
})

describe('a momentary disk failure', () => {
  it.for<[string, ScheduleBehaviour, (id: string) => string[]]>([
    ['the node has the job', 'ok', (id: string) => [id]],
    ['the node refused it', 'refuse', (id: string) => [`${id}-2`]]
  ])(
    'while the answer to a POST is recorded: %s',
    async ([_case, behaviour, expected], { clock, store, node, engine }) => {
      node.behaviours = [behaviour]
      let failing = 0
      const failingStore = new Proxy(store, {
        get: (whole, property) =>
          property === 'applyChanges' && failing-- > 0
            ? () => Promise.reject(new Error('disk full'))
            : Reflect.get(whole, property)
      })
      vi.spyOn(console, 'error').mockImplementation(() => {})
      await engine.start({ n1: node }, { store: failingStore })
      const schedule = node.schedule.bind(node)
      node.schedule = (request) => {
        failing = 1
        node.schedule = schedule
        return schedule(request)
      }
      const [id] = await engine.enqueueMany(1)
      await clock.advanceBy(15_000)
      expect(node.executed).toEqual(expected(id!))
      expect((await engine.job(id!)).state).toBe('running')
      vi.restoreAllMocks()
    }
  )
})
