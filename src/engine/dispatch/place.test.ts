import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orderFairly } from '../queue/fair-order.ts'
import type { QueueLane } from '../queue/fair-order.ts'
import { place, type EggState, type PlaceableNode, type PlaceInput } from './place.ts'

function aNode(values: Partial<PlaceableNode> = {}): PlaceableNode {
  return { id: 'n1', name: 'eu-1', slots: 2, used: 0, tags: [], mode: 'active', unavailable: null, ...values }
}

function aLane(ids: string[], values: Partial<QueueLane> = {}): QueueLane {
  return {
    lane: `lane of ${ids[0]}`,
    project: 'shop',
    version: '1',
    placement: { nodeId: null, tags: [] },
    spider: 'prices',
    jobs: ids.map((id) => ({ id, jobid: id, priority: 0, rank: 0, attemptCount: 0 })),
    depth: ids.length,
    ...values
  }
}

function planFor(lanes: QueueLane[], nodes: PlaceableNode[], values: Partial<PlaceInput> = {}) {
  return place({
    heads: orderFairly(lanes, () => 0),
    lanes,
    nodes,
    isPaused: false,
    versionOf: (lane) => lane.version,
    eggState: () => 'present',
    whyNotReady: () => null,
    isHeldBack: () => false,
    ...values
  })
}

const placed = (plan: ReturnType<typeof place>) => plan.assignments.map(({ jobId, nodeId }) => [jobId, nodeId])
const waits = (plan: ReturnType<typeof place>) => [...plan.waiting.values()]

describe('placing jobs on nodes', () => {
  it('a job that its node refused lately waits, and those behind it go', () => {
    const isHeldBack = (jobId: string) => jobId === 'a'
    const plan = planFor([aLane(['a', 'b', 'c'])], [aNode()], { isHeldBack })
    expect(placed(plan)).toEqual([
      ['b', 'n1'],
      ['c', 'n1']
    ])
    expect(waits(plan)).toEqual([{ code: 'node_refused', text: 'eu-1 refused it; tried again soon' }])
  })

  it.each([
    [
      'some nodes are down and the others cordoned',
      [aNode({ unavailable: 'does not answer' }), aNode({ id: 'n2', mode: 'cordoned' })],
      {},
      'eu-1 does not answer, and the other nodes are down or cordoned, too'
    ],
    [
      'its node was removed',
      [aNode()],
      { placement: { nodeId: 'gone', tags: [] } },
      'the node it was to run on is gone, or has other tags; run it again elsewhere'
    ]
  ])('says what is true when %s', (_case, nodes, lane, text) => {
    expect(waits(planFor([aLane(['a'], lane)], nodes)).map((wait) => wait.text)).toEqual([text])
  })

  it('a node that cannot run one project runs the others, and other nodes run that one', () => {
    const whyNotReady = (nodeId: string, project: string) =>
      nodeId === 'n1' && project === 'slow' ? 'is making the Python environment of slow (Collecting lxml)' : null
    const lanes = [
      aLane(['a', 'b'], { project: 'slow' }),
      aLane(['c'], { project: 'slow', placement: { nodeId: 'n1', tags: [] } }),
      aLane(['d', 'e'])
    ]
    const plan = planFor(lanes, [aNode(), aNode({ id: 'n2', name: 'eu-2', slots: 1 })], { whyNotReady })
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['d', 'n1'],
      ['e', 'n1']
    ])
    expect(plan.waiting.get('lane of c')).toEqual({
      code: 'python_not_ready',
      text: 'eu-1 is making the Python environment of slow (Collecting lxml)'
    })
    expect(plan.waiting.get('lane of a')?.code).toBe('all_slots_busy')
  })

  it('fills the least loaded node first, by its share of slots', () => {
    const plan = planFor([aLane(['a', 'b', 'c'])], [aNode({ slots: 4, used: 2 }), aNode({ id: 'n2', slots: 2 })])
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1'],
      ['c', 'n2']
    ])
    expect(plan.waiting.size).toBe(0)
  })

  it('prefers a node that has the egg to an emptier one that lacks it', () => {
    const nodes = [aNode({ used: 1 }), aNode({ id: 'n2' })]
    const plan = planFor([aLane(['a'])], nodes, { eggState: (nodeId) => (nodeId === 'n1' ? 'present' : 'absent') })
    expect(placed(plan)).toEqual([['a', 'n1']])
    expect(plan.uploads).toEqual([])
  })

  it('sends the egg to as many nodes as jobs would use, and says so', () => {
    const nodes = [aNode(), aNode({ id: 'n2' }), aNode({ id: 'n3' })]
    const plan = planFor([aLane(['a', 'b'])], nodes, { eggState: () => 'absent' })
    expect(plan.uploads.map(({ nodeId }) => nodeId)).toEqual(['n1', 'n2'])
    expect(waits(plan)).toEqual([{ code: 'egg_on_its_way', text: 'version 1 is being sent to eu-1' }])
  })

  it('sends no second egg for a job that waits for the first', () => {
    const nodes = [aNode(), aNode({ id: 'n2' })]
    const plan = planFor([aLane(['a'])], nodes, {
      eggState: (nodeId): EggState => (nodeId === 'n1' ? 'sending' : 'absent')
    })
    expect(plan.uploads).toEqual([])
    expect(waits(plan)[0]?.code).toBe('egg_on_its_way')
  })

  it.each([
    ['there is no node', [], {}, 'no_nodes'],
    ['the node is down', [aNode({ unavailable: 'does not answer' })], {}, 'nodes_down'],
    ['the node is cordoned', [aNode({ mode: 'cordoned' })], {}, 'nodes_cordoned'],
    ['the node has no Python for it', [aNode()], { whyNotReady: () => 'is making it' }, 'python_not_ready'],
    ['all slots are busy', [aNode({ used: 2 })], {}, 'all_slots_busy'],
    ['the version is gone', [aNode()], { versionOf: () => null }, 'version_missing'],
    ['everything is paused', [aNode()], { isPaused: true }, 'paused'],
    ['nobody has the egg', [aNode()], { eggState: () => 'never' as const }, 'egg_refused'],
    ['the node refused it lately', [aNode()], { isHeldBack: () => true }, 'node_refused']
  ] as const)('says why a job waits when %s', (_case, nodes, values, code) => {
    const plan = planFor([aLane(['a'])], [...nodes], values)
    expect(plan.assignments).toEqual([])
    expect(waits(plan)).toEqual([{ code, text: expect.stringMatching(/\w{3}/) }])
  })

  it('keeps to the node and the tags that a job asks for', () => {
    const nodes = [aNode({ tags: ['eu'] }), aNode({ id: 'n2', tags: ['eu', 'big'] })]
    const tagged = aLane(['a'], { placement: { nodeId: null, tags: ['eu', 'big'] } })
    const pinned = aLane(['b'], { placement: { nodeId: 'n1', tags: [] } })
    const nowhere = aLane(['c'], { placement: { nodeId: null, tags: ['us'] } })
    const plan = planFor([tagged, pinned, nowhere], nodes)
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1']
    ])
    expect(waits(plan)).toEqual([{ code: 'no_matching_node', text: 'no node is tagged us' }])
  })

  it('gives projects of equal priority turns, and higher priority goes first whatever its project has', () => {
    const big = aLane(['a1', 'a2', 'a3', 'a4'])
    const small = aLane(['b1'], { project: 'news' })
    const urgent = aLane(['u1'], { lane: 'urgent' })
    urgent.jobs[0]!.priority = 5
    const plan = planFor([big, small, urgent], [aNode({ slots: 3 })])
    expect(placed(plan).map(([jobId]) => jobId)).toEqual(['u1', 'b1', 'a1'])
  })
})

describe('properties of place', () => {
  const nodes = fc
    .uniqueArray(
      fc.record({
        id: fc.constantFrom('n1', 'n2', 'n3', 'n4'),
        slots: fc.integer({ min: 1, max: 5 }),
        used: fc.nat(6),
        mode: fc.constantFrom('active' as const, 'cordoned' as const, 'draining' as const),
        unavailable: fc.constantFrom(null, 'does not answer'),
        tags: fc.subarray(['eu', 'big'])
      }),
      { selector: ({ id }) => id }
    )
    .map((list) => list.map((node) => aNode(node)))
  const lanes = fc
    .array(
      fc.record({
        project: fc.constantFrom('shop', 'news'),
        count: fc.integer({ min: 1, max: 6 }),
        tags: fc.subarray(['eu', 'big']),
        priority: fc.integer({ min: -1, max: 1 })
      }),
      { maxLength: 4 }
    )
    .map((list) =>
      list.map((lane, index) => {
        const made = aLane(
          Array.from({ length: lane.count }, (_, job) => `l${index}j${job}`),
          { lane: `l${index}`, project: lane.project, placement: { nodeId: null, tags: lane.tags } }
        )
        for (const job of made.jobs) job.priority = lane.priority
        return made
      })
    )
  const eggs = fc.dictionary(
    fc.constantFrom('n1', 'n2', 'n3', 'n4'),
    fc.constantFrom<EggState>('present', 'sending', 'absent', 'never')
  )

  it('never over the free slots, never a job twice, only where it may run, and every job left over says why', () => {
    fc.assert(
      fc.property(lanes, nodes, eggs, (queue, fleet, eggOf) => {
        const plan = planFor(queue, fleet, { eggState: (nodeId) => eggOf[nodeId] ?? 'present' })
        expect(new Set(plan.assignments.map(({ jobId }) => jobId)).size).toBe(plan.assignments.length)
        for (const node of fleet) {
          const given = plan.assignments.filter(({ nodeId }) => nodeId === node.id).length
          expect(given).toBeLessThanOrEqual(Math.max(0, node.slots - node.used))
          if (given > 0)
            expect([node.unavailable, node.mode, eggOf[node.id] ?? 'present']).toEqual([null, 'active', 'present'])
        }
        const assigned = new Set(plan.assignments.map(({ jobId }) => jobId))
        for (const lane of queue) {
          for (const assignment of plan.assignments.filter((one) => one.lane === lane.lane)) {
            const node = fleet.find(({ id }) => id === assignment.nodeId)!
            expect(lane.placement.tags.every((tag) => node.tags.includes(tag))).toBe(true)
          }
          if (lane.jobs.some(({ id }) => !assigned.has(id))) expect(plan.waiting.has(lane.lane)).toBe(true)
        }
      })
    )
  })

  it('uses every slot that a waiting job could use', () => {
    fc.assert(
      fc.property(lanes, nodes, (queue, fleet) => {
        const plan = planFor(queue, fleet)
        const assigned = new Set(plan.assignments.map(({ jobId }) => jobId))
        for (const lane of queue.filter((one) => one.jobs.some(({ id }) => !assigned.has(id)))) {
          for (const node of fleet.filter(
            (one) =>
              one.unavailable === null &&
              one.mode === 'active' &&
              lane.placement.tags.every((tag) => one.tags.includes(tag))
          )) {
            const given = plan.assignments.filter(({ nodeId }) => nodeId === node.id).length
            expect(node.used + given).toBeGreaterThanOrEqual(node.slots)
          }
        }
      })
    )
  })

  it('the same input gives the same plan', () => {
    fc.assert(
      fc.property(lanes, nodes, (queue, fleet) => {
        expect(planFor(queue, fleet)).toEqual(planFor(queue, fleet))
      })
    )
  })
})
