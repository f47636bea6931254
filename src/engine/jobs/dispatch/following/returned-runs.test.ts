import { describe, expect } from 'vitest'
import { aJobId, aNodeId, aProjectName, aVersionName, branded } from '../../../../shared/testing/ids.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { NodeError } from '../../../nodes/node-client.ts'
import { type DispatchFixtures, it, MINUTE_MS, onlyOn } from '../../../testing/dispatch-fixtures.ts'

describe('a run that was given up and reappears', () => {
  async function givenUp({ clock, node, engine }: Pick<DispatchFixtures, 'clock' | 'node' | 'engine'>) {
    const id = await engine.enqueue()
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await engine.dispatch.runElsewhere([aJobId(id)])
    await clock.advanceBy(2_000)
    return id
  }

  it('is stopped if the job already runs elsewhere; the newer run continues', async ({
    clock,
    node,
    other,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.restart({ n1: node, n2: other })
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await engine.dispatch.runElsewhere([aJobId(id)])
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual([`${id}-2`])
    node.isDown = false
    await clock.advanceBy(70_000)
    expect(node.running[0]?.signals.slice(0, 3)).toEqual(['INT', 'INT', 'KILL'])
    expect(other.running[0]?.signals).toEqual([])
    expect(await engine.textOf(id, 'seen_again')).toBe(
      'Seen again on n1 (running), where it was given up: it is stopped there because run 2 of the job continues'
    )
    node.end(id, 'shutdown')
    other.end(`${id}-2`)
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
    expect((await engine.kinds(id)).filter((kind) => kind === 'seen_again')).toHaveLength(1)
  })

  it('is recorded once, whichever engine sees it', async ({ clock, store, node, other, engine }) => {
    const id = await engine.startRunning({ n1: node, n2: other }, onlyOn('n1'))
    node.isDown = true
    await clock.advanceBy(5_000)
    await store.placeQueued(
      branded(await engine.dispatch.runElsewhere([aJobId(id)])),
      { nodeId: aNodeId('n2'), tags: [] },
      { atMs: clock.nowMs(), message: plain('moved'), evidence: {} }
    )
    engine.dispatch.wake()
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual([`${id}-2`])
    node.isDown = false
    await clock.advanceBy(3_000)
    await engine.restart({ n1: node, n2: other })
    await clock.advanceBy(20_000)
    expect((await engine.kinds(id)).filter((kind) => kind === 'seen_again')).toHaveLength(1)
    expect(node.running[0]?.signals.length).toBeGreaterThanOrEqual(2)
  })

  it.for([
    ['still runs', false],
    ['has ended there meanwhile', true]
  ] as const)(
    'is followed again while the job still waits, when it %s',
    async ([_case, hasEnded], { clock, node, engine }) => {
      await engine.start({ n1: node })
      const id = await givenUp({ clock, node, engine })
      expect(await engine.job(id)).toMatchObject({ state: 'queued' })
      // `joined` makes the collector read the run's log again.
      const joined: string[] = []
      engine.live.events.on('joined', ({ state }) => joined.push(state))
      if (hasEnded) node.end(id)
      // The lists are slow, so the dispatcher must wait for them.
      const list = node.listJobs.bind(node)
      node.listJobs = async () => {
        await new Promise<void>((resolve) => void clock.setTimer(500, resolve))
        return list()
      }
      node.isDown = false
      await clock.advanceBy(20_000)
      if (node.running.length > 0) node.end(id)
      await clock.advanceBy(6_000)
      expect(node.executed).toEqual([id])
      expect(await engine.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1, mayHaveRunTwice: false })
      expect(await engine.kinds(id)).toContain('found_again')
      expect(joined).toEqual([hasEnded ? 'finishing' : 'running'])
    }
  )

  it('is judged if it had ended before it was given up and its log is available after all', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.startRunning({ n1: node }, onlyOn('n1'))
    const readLog = node.readLog.bind(node)
    node.readLog = async () => {
      throw new NodeError('timeout', plain('fake is slow'), { delivered: 'unknown' })
    }
    node.end(id)
    await clock.advanceBy(3_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    expect(await engine.dispatch.runElsewhere([aJobId(id)])).toEqual([id])
    node.readLog = readLog
    node.isDown = false
    await clock.advanceBy(MINUTE_MS)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
    expect(node.executed).toEqual([id])
  })

  it('is tracked even if the store fails to read right after it was found', async ({ clock, store, node, engine }) => {
    await engine.start({ n1: node })
    const id = await givenUp({ clock, node, engine })
    const apply = store.applyChanges.bind(store)
    const read = store.getJob.bind(store)
    store.applyChanges = async (changes) => {
      const applied = await apply(changes)
      if (changes.some(({ kind }) => kind === 'found_again')) {
        store.getJob = async (jobId) => {
          store.getJob = read
          throw new Error(`disk, while reading ${jobId}`)
        }
      }
      return applied
    }
    node.isDown = false
    await clock.advanceBy(20_000)
    store.getJob = read
    node.end(id)
    await clock.advanceBy(20_000)
    expect(await engine.kinds(id)).toContain('found_again')
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  })

  it('is still stopped if its time limit had passed before it was given up', async ({ clock, node, engine }) => {
    await engine.start({ n1: node })
    const id = await engine.enqueue({ ...onlyOn('n1'), limits: { wallSeconds: 60 } })
    await clock.advanceBy(58_000)
    node.isDown = true
    await clock.advanceBy(10_000)
    await engine.dispatch.runElsewhere([aJobId(id)])
    node.isDown = false
    await clock.advanceBy(MINUTE_MS)
    expect(await engine.kinds(id)).toContain('found_again')
    expect(node.running[0]?.signals.slice(0, 2)).toEqual(['INT', 'INT'])
  })

  it('is left alone if its jobid is not ours', async ({ clock, store, node, other, engine }) => {
    const id = await engine.startRunning({ n1: node, n2: other }, { jobid: 'nightly', ...onlyOn('n1') })
    node.isDown = true
    await clock.advanceBy(5_000)
    await engine.dispatch.runElsewhere([aJobId(id)])
    await store.placeQueued(
      [aJobId(id)],
      { nodeId: aNodeId('n2'), tags: [] },
      { atMs: clock.nowMs(), message: plain('moved'), evidence: {} }
    )
    engine.dispatch.wake()
    await clock.advanceBy(2_000)
    expect(other.executed).toEqual(['nightly-2'])
    node.isDown = false
    await clock.advanceBy(MINUTE_MS)
    expect(node.running.map(({ jobid, signals }) => [jobid, signals])).toEqual([['nightly', []]])
    expect(await engine.textOf(id, 'seen_again')).toContain('it is left running there')
  })

  it('external jobs are neither queried twice nor touched', async ({ clock, store, node, engine }) => {
    const stranger = {
      project: aProjectName('shop'),
      version: aVersionName('1'),
      spider: 's',
      jobid: 'f'.repeat(32),
      settings: {},
      args: {}
    }
    await node.schedule({ ...stranger, priority: 0 })
    const asked: unknown[] = []
    const ask = store.findAttemptsOnNode.bind(store)
    store.findAttemptsOnNode = (nodeId, runs) => {
      asked.push(...runs)
      return ask(nodeId, runs)
    }
    await engine.start({ n1: node })
    await engine.enqueue()
    await clock.advanceBy(MINUTE_MS)
    expect(asked).toEqual([{ project: 'shop', jobid: stranger.jobid }])
    expect(node.running.flatMap(({ signals }) => signals)).toEqual([])
  })
})
