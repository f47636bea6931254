import { describe, expect, it, vi } from 'vitest'
import { aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { laneText } from '../../model/lane.ts'
import type { QueueHead } from '../../model/records.ts'
import { QueueView } from './queue-view.ts'

function aQueue(lanes: Record<string, string[]>) {
  const textOf = (spider: string) =>
    laneText({ project: aProjectName('shop'), version: null, spider, placement: { nodeId: null, tags: [] } })
  const queued = new Map(Object.entries(lanes).map(([spider, ids]) => [textOf(spider), ids]))
  let tell = (_lanes: string[]) => {}
  const onChange = vi.fn()
  const listLanes = vi.fn(async () => [...queued].map(([lane, ids]) => ({ lane, depth: ids.length })))
  const readHeads = vi.fn(async (wanted: { lane: string; limit: number }[]) =>
    wanted.map(({ lane, limit }) => (queued.get(lane) ?? []).slice(0, limit).map(aHead))
  )
  const view = new QueueView(
    {
      listLanes,
      readHeads,
      onQueueChange(listener) {
        tell = listener
        return () => {}
      }
    },
    onChange
  )
  return {
    view,
    onChange,
    listLanes,
    readHeads,
    textOf,
    /** Removes jobs without an event, as if another engine had claimed them. */
    drop(spider: string, count: number) {
      queued.set(textOf(spider), queued.get(textOf(spider))!.slice(count))
    },
    change(spider: string, ids: string[]) {
      queued.set(textOf(spider), ids)
      tell([textOf(spider)])
    },
    heads: () =>
      Object.fromEntries(
        [...view.lines().values()].flatMap((line) =>
          [...line.lanes.values()].map(({ spider, jobs }) => [spider, jobs.map(({ id }) => id)])
        )
      )
  }
}

function aHead(id: string): QueueHead {
  return { id: aJobId(id), jobid: id, priority: 0, rank: 0, attemptCount: 0 }
}

describe('the queue in memory', () => {
  it('groups lanes that differ only in their spider, and reads the first few jobs of each', async () => {
    const queue = aQueue({ prices: ['a', 'b', 'c', 'd', 'e', 'f'], stock: ['x'] })
    await queue.view.refresh()
    expect(queue.view.lines().size).toBe(1)
    expect(queue.heads()).toEqual({ prices: ['a', 'b', 'c', 'd'], stock: ['x'] })
  })

  it('rereads only what changed, and lists the lanes once', async () => {
    const queue = aQueue({ prices: ['a'], stock: ['x'] })
    await queue.view.refresh()
    queue.change('stock', ['w', 'x'])
    expect(queue.onChange).toHaveBeenCalledTimes(1)
    await queue.view.refresh()
    await queue.view.refresh()
    expect(queue.listLanes).toHaveBeenCalledTimes(1)
    expect(queue.readHeads).toHaveBeenCalledTimes(2)
    expect(queue.readHeads).toHaveBeenLastCalledWith([{ lane: queue.textOf('stock'), limit: 4 }])
    expect(queue.heads()).toEqual({ prices: ['a'], stock: ['w', 'x'] })
  })

  it('removes claimed jobs from the heads without reading, and reads more as they run out', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `j${String(index).padStart(2, '0')}`)
    const queue = aQueue({ prices: ids })
    const lane = queue.textOf('prices')
    await queue.view.refresh()
    queue.view.remove(lane, aJobId('j00'))
    await queue.view.refresh()
    expect(queue.readHeads).toHaveBeenCalledTimes(1)
    expect(queue.heads()).toEqual({ prices: ['j01', 'j02', 'j03'] })
    queue.drop('prices', 2)
    queue.view.remove(lane, aJobId('j01'))
    await vi.waitFor(() => expect(queue.heads()['prices']).toEqual(ids.slice(2, 10)))
    expect(queue.readHeads).toHaveBeenLastCalledWith([{ lane, limit: 8 }])
  })

  it('continues with the remaining heads while it reads more, and never returns a job claimed meanwhile', async () => {
    const queue = aQueue({ prices: ['a', 'b', 'c', 'd', 'e', 'f'] })
    const lane = queue.textOf('prices')
    await queue.view.refresh()
    const { promise: answer, resolve } = Promise.withResolvers<QueueHead[][]>()
    queue.readHeads.mockReturnValueOnce(answer)
    for (const id of ['a', 'b']) queue.view.remove(lane, aJobId(id))
    await vi.waitFor(() => expect(queue.readHeads).toHaveBeenCalledTimes(2))
    await queue.view.refresh()
    expect(queue.heads()).toEqual({ prices: ['c', 'd'] })
    queue.view.remove(lane, aJobId('c'))
    resolve([['c', 'd', 'e', 'f'].map(aHead)])
    await vi.waitFor(() => expect(queue.heads()).toEqual({ prices: ['d', 'e', 'f'] }))
  })

  it('prefetched heads do not overwrite later changes', async () => {
    const queue = aQueue({ prices: ['a', 'b', 'c', 'd', 'e'] })
    await queue.view.refresh()
    const { promise: answer, resolve } = Promise.withResolvers<QueueHead[][]>()
    queue.readHeads.mockReturnValueOnce(answer)
    for (const id of ['a', 'b']) queue.view.remove(queue.textOf('prices'), aJobId(id))
    await vi.waitFor(() => expect(queue.readHeads).toHaveBeenCalledTimes(2))
    queue.change('prices', ['urgent', 'c', 'd', 'e'])
    await queue.view.refresh()
    resolve([['c', 'd', 'e'].map(aHead)])
    await new Promise((done) => setImmediate(done))
    expect(queue.heads()).toEqual({ prices: ['urgent', 'c', 'd', 'e'] })
  })

  it('forgets a lane whose last job was claimed, or that is empty when it is read', async () => {
    const queue = aQueue({ prices: ['a'], stock: ['x'] })
    await queue.view.refresh()
    queue.view.remove(queue.textOf('prices'), aJobId('a'))
    queue.change('stock', [])
    await queue.view.refresh()
    expect(queue.view.lines().size).toBe(0)
  })

  it('keeps fewer heads per lane if there are many lanes; a lane whose kept heads are all unusable is stuck and not reread', async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `j${index}`)
    const spiders = Array.from({ length: 1_000 }, (_, index) => [`spider${index}`, index === 0 ? ids : ['x']] as const)
    const queue = aQueue(Object.fromEntries(spiders))
    await queue.view.refresh()
    let reads = 0
    while (queue.view.readMore(queue.textOf('spider0')) && reads < 50) {
      await queue.view.refresh()
      reads += 1
    }
    expect(reads).toBeLessThan(12)
    expect(queue.heads()['spider0']!.length).toBeGreaterThan(150)
  })

  it('a lane with claims is never stuck, however few heads are kept', async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `j${index}`)
    const queue = aQueue({ prices: ids })
    const lane = queue.textOf('prices')
    await queue.view.refresh()
    for (let reads = 0; reads < 7; reads += 1) {
      queue.view.readMore(lane)
      await queue.view.refresh()
    }
    for (let index = 0; index < 1_000; index += 1) queue.change(`spider${index}`, ['x'])
    await queue.view.refresh()
    for (const id of ids.slice(0, 256)) queue.view.remove(lane, aJobId(id))
    const [line] = queue.view.lines().values()
    expect(line!.lanes.get(lane)).toMatchObject({ isStuck: false })
  })

  it('a failed read is repeated the next time', async () => {
    const queue = aQueue({ prices: ['a'] })
    queue.readHeads.mockRejectedValueOnce(new Error('disk'))
    await expect(queue.view.refresh()).rejects.toThrow('disk')
    await queue.view.refresh()
    expect(queue.heads()).toEqual({ prices: ['a'] })
  })
})
