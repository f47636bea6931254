import { expect } from 'vitest'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { aNewJob } from '../../testing/builders.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../testing/fake-node.ts'

it.for([0, 5])(
  'a thousand jobs that their node refuses do not delay others (their priority %i)',
  async (priority, { clock, store, engine }) => {
    const node = new FakeNode(clock, { slots: 4, eggs: ['shop@1', 'other@1'] })
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      if (request.project !== 'shop') return schedule(request)
      throw new NodeError('refused', plain('n1 refused it'), { delivered: 'no', nodeMessage: 'no memory' })
    }
    await engine.start({ n1: node })
    await store.enqueueJobs(Array.from({ length: 1_000 }, () => aNewJob({ version: '1', priority })))
    engine.dispatch.wake()
    await clock.advanceBy(4_000)
    const good = await engine.enqueue({ project: aProjectName('other') })
    await clock.advanceBy(1_000)
    expect(node.executed).toEqual([good])
  }
)
