import { describe, expect } from 'vitest'
import { aJobId, aNodeId } from '../../../shared/testing/ids.ts'
import type { NodeChoices } from '../../notify/plugins/node-chooser.ts'
import type { NodeQuestion } from '../../notify/plugins/plugin.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../testing/fake-node.ts'

const saying = (questions: NodeQuestion[], nodeId: string, why = 'it is near'): NodeChoices => ({
  plugin: 'near',
  byJob: new Map(questions.map(({ job }) => [job.id, { node: nodeId, why }])),
  problem: null
})

describe('a plugin that chooses nodes', () => {
  it('is called once for jobs that are sent together, and its reason is in the timeline', async ({
    clock,
    node,
    store,
    engine
  }) => {
    const asked: NodeQuestion[][] = []
    const big = new FakeNode(clock, { slots: 4, eggs: ['shop@1'] })
    const chooseNodes = async (questions: NodeQuestion[]) => {
      asked.push(questions)
      return saying(questions, 'n1')
    }
    await engine.start({ n1: node, n2: big }, { chooseNodes })
    const ids = await engine.enqueueMany(2)
    expect(node.executed.toSorted()).toEqual(ids.toSorted())
    const candidates = [
      { id: 'n1', name: 'n1', tags: [], slots: 2, free: 2 },
      { id: 'n2', name: 'n2', tags: [], slots: 4, free: 4 }
    ]
    const job = { project: 'shop', spider: 'prices', priority: 0, version: '1' }
    expect(asked).toEqual([ids.toSorted().map((id) => ({ job: { id, ...job }, candidates }))])
    const sent = (await store.listTimeline(aJobId(ids[0]!))).find(({ kind }) => kind === 'sending')
    expect(sent).toMatchObject({ text: 'Sent to n1', evidence: { version: '1', 'chosen by near': 'it is near' } })
  })

  it('cannot give a node more jobs than it has slots; the others go elsewhere, and their timelines say so', async ({
    node,
    other,
    store,
    engine
  }) => {
    await engine.start({ n1: node, n2: other }, { chooseNodes: async (questions) => saying(questions, 'n1') })
    const ids = await engine.enqueueMany(6)
    expect([node.executed.length, other.executed.length]).toEqual([2, 2])
    expect([node.mostRunningAtOnce, other.mostRunningAtOnce]).toEqual([2, 2])
    const elsewhere = ids.find((id) => other.executed.includes(id))!
    const sent = (await store.listTimeline(aJobId(elsewhere))).find(({ kind }) => kind === 'sending')
    expect(sent!).toMatchObject({
      evidence: {
        because: expect.stringMatching(/slots free, has the egg$/),
        'not as near chose': 'the node that it chose cannot take this job now'
      },
      evidenceCodes: {
        because: { code: 'placed.on_free_slot' },
        'not as near chose': { code: 'choice.node_full' }
      }
    })
  })

  it('is not called if there is no choice', async ({ node, engine }) => {
    const chooseNodes = async (): Promise<NodeChoices> => {
      throw new Error('asked')
    }
    await engine.start({ n1: node }, { chooseNodes })
    const ids = await engine.enqueueMany(2)
    expect(node.executed.toSorted()).toEqual(ids.toSorted())
  })

  it('that names a removed node, or gives no answer, loses no job', async ({ node, other, engine }) => {
    let times = 0
    const chooseNodes = async (questions: NodeQuestion[]): Promise<NodeChoices> => {
      times += 1
      if (times > 1) return { plugin: 'near', byJob: new Map(), problem: 'it did not answer within 0.1 s' }
      await engine.fleet.remove(aNodeId('n2'))
      return saying(questions, 'n2')
    }
    await engine.start({ n1: node, n2: other }, { chooseNodes })
    const [first] = await engine.enqueueMany(1)
    expect([node.executed, other.executed]).toEqual([[first], []])
  })

  it('that could not be called is named in the timeline, and jobs are placed without it', async ({
    node,
    other,
    store,
    engine
  }) => {
    const chooseNodes = async () => ({ plugin: 'near', byJob: new Map(), problem: 'it failed: no map' })
    await engine.start({ n1: node, n2: other }, { chooseNodes })
    const [id] = await engine.enqueueMany(1)
    expect(node.executed).toEqual([id])
    const sent = (await store.listTimeline(aJobId(id!))).find(({ kind }) => kind === 'sending')
    expect(sent!.evidence).toMatchObject({ 'not asked of near': 'it failed: no map' })
  })
})
