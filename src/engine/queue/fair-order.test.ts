import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { QueueLane } from './fair-order.ts'
import { orderFairly } from './fair-order.ts'

function aLane(project: string, jobs: { id: string; priority: number }[]): QueueLane {
  return {
    lane: `${project} ${jobs[0]?.id}`,
    project,
    version: null,
    placement: { nodeId: null, tags: [] },
    spider: 's',
    jobs: jobs.map(({ id, priority }) => ({ id, jobid: id, priority, rank: 0, attemptCount: 0 })),
    depth: jobs.length
  }
}

const idsOf = (lanes: QueueLane[], share = (_project: string) => 0) =>
  [...orderFairly(lanes, share)].map(({ job }) => job.id)

it('takes turns between projects, oldest first within one', () => {
  const lanes = [
    aLane(
      'big',
      [1, 2, 3, 4].map((n) => ({ id: `a${n}`, priority: 0 }))
    ),
    aLane('small', [{ id: 'b1', priority: 0 }])
  ]
  expect(idsOf(lanes)).toEqual(['a1', 'b1', 'a2', 'a3', 'a4'])
})

it('lets a project that holds fewer slots go first', () => {
  const lanes = [
    aLane('busy', [{ id: 'a1', priority: 0 }]),
    aLane('idle', [
      { id: 'b1', priority: 0 },
      { id: 'b2', priority: 0 }
    ])
  ]
  expect(idsOf(lanes, (project) => (project === 'busy' ? 2 : 0))).toEqual(['b1', 'b2', 'a1'])
})

it('gives every job out once, never a lower priority before a higher one of another lane head', () => {
  const jobs = fc.array(fc.record({ priority: fc.integer({ min: -2, max: 2 }) }), { minLength: 1, maxLength: 8 })
  const queues = fc.array(fc.record({ project: fc.constantFrom('a', 'b', 'c'), jobs }), { maxLength: 5 }).map((list) =>
    list.map((lane, index) =>
      aLane(
        lane.project,
        lane.jobs
          .map(({ priority }, number) => ({ id: `${index}-${number}`, priority }))
          .sort((left, right) => right.priority - left.priority)
      )
    )
  )
  fc.assert(
    fc.property(queues, (lanes) => {
      const order = [...orderFairly(lanes, () => 0)]
      expect(order.map(({ job }) => job.id).sort()).toEqual(
        lanes.flatMap((lane) => lane.jobs.map(({ id }) => id)).sort()
      )
      const priorities = order.map(({ job }) => job.priority)
      expect(priorities).toEqual([...priorities].sort((left, right) => right - left))
    })
  )
})
