import { render, say } from '../../../../shared/texts/message.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LimitRule } from '../../../../shared/contract/index.ts'
import { meetsTags } from '../../../../shared/tag-terms.ts'
import { aNodeId, aProjectName, branded, type Plain } from '../../../../shared/testing/ids.ts'
import { LimitBook } from '../../queue/limits.ts'
import type { QueueLine } from '../../queue/fair-order.ts'
import { aQueueLine } from '../../../testing/queue-builders.ts'
import { type EggState, NodeIndex, type PlaceableNode } from './node-index.ts'
import { place, type PlaceInput } from './place.ts'

const N2 = aNodeId('n2')
const SHOP = aProjectName('shop')

function aNode(values: Plain<Partial<PlaceableNode>> = {}): PlaceableNode {
  return branded({
    id: 'n1',
    name: 'eu-1',
    slots: 2,
    isTrying: false,
    queueAhead: 0,
    used: 0,
    held: 0,
    roomMax: Number.POSITIVE_INFINITY,
    tags: [],
    mode: 'active',
    unavailable: null,
    isChoosy: true,
    logsKept: null,
    ...values
  })
}

const mostOn = ({ slots, queueAhead, isTrying }: PlaceableNode) => slots + Math.max(queueAhead, isTrying ? 1 : 0)

function aLine(ids: string[], values: Plain<Partial<Parameters<typeof aQueueLine>[0]>> = {}): QueueLine {
  return aQueueLine(branded({ lanes: { prices: ids }, ...values }))
}

function aRule(values: Plain<Partial<LimitRule>> = {}): LimitRule {
  return branded({ id: '1', project: null, spider: null, tag: null, perNode: false, max: 1, ...values })
}

function withLimits(...rules: LimitRule[]): LimitBook {
  const book = new LimitBook()
  book.replace(rules, [])
  return book
}

function planFor(
  lines: QueueLine[],
  nodes: PlaceableNode[],
  { limits = new LimitBook(), ...values }: Partial<PlaceInput> & { limits?: LimitBook } = {}
) {
  return place({
    lines,
    nodes: new NodeIndex(nodes),
    shareOf: () => ({ slots: 0, weight: 1, pass: 0 }),
    isPaused: false,
    isProjectPaused: () => false,
    versionOf: (line) => line.version,
    eggState: () => 'present',
    importErrors: () => new Map(),
    whyNotReady: () => null,
    isBackedOff: () => false,
    hasLimits: !limits.isEmpty,
    rulesFor: (project, spider) => limits.rulesFor(project, spider),
    newerLogs: () => null,
    assignmentsMax: 1_000,
    ...values
  })
}

const placed = (plan: ReturnType<typeof place>) => plan.assignments.map(({ job, nodeId }) => [job.id, nodeId])
const waits = ({ waiting: { everything, lines, lanes } }: ReturnType<typeof place>) =>
  [...(everything === null ? [] : [everything]), ...lines.values(), ...lanes.values()].map(({ code, text }) => ({
    code,
    text
  }))

describe('placing jobs on nodes', () => {
  it('a job that its node refused recently waits, and those behind it are sent', () => {
    const isBackedOff = (_nodeId: string, jobId: string) => jobId === 'a'
    const plan = planFor([aLine(['a', 'b', 'c'])], [aNode()], { isBackedOff })
    expect(placed(plan)).toEqual([
      ['b', 'n1'],
      ['c', 'n1']
    ])
    expect(waits(plan)).toEqual([{ code: 'node_refused', text: 'eu-1 refused the job; retrying soon' }])
  })

  it.each([
    [
      'some nodes are down and the others cordoned',
      [aNode({ unavailable: 'down' }), aNode({ id: N2, mode: 'cordoned' })],
      {},
      'eu-1 does not respond, and the other nodes are down or cordoned as well'
    ],
    [
      'its node was removed',
      [aNode()],
      { placement: { nodeId: 'gone', tags: [] } },
      'its node was removed or has different tags; run the job again on another node'
    ]
  ])('gives the true reason when %s', (_case, nodes, lane, text) => {
    expect(waits(planFor([aLine(['a'], lane)], nodes)).map((wait) => wait.text)).toEqual([text])
  })

  it('a node that cannot run one project runs others, and other nodes run that project', () => {
    const whyNotReady = (nodeId: string, project: string) =>
      nodeId === 'n1' && project === 'slow'
        ? say('not_ready.building', { project: 'slow', progress: 'Collecting lxml' })
        : null
    const lanes = [
      aLine(['a', 'b'], { project: 'slow' }),
      aLine(['c'], { project: 'slow', placement: { nodeId: aNodeId('n1'), tags: [] } }),
      aLine(['d', 'e'])
    ]
    const plan = planFor(lanes, [aNode(), aNode({ id: N2, name: 'eu-2', slots: 1 })], { whyNotReady })
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['d', 'n1'],
      ['e', 'n1']
    ])
    expect(plan.waiting.lines.get(lanes[1]!.key)).toMatchObject({
      code: 'python_not_ready',
      text: 'eu-1 is building the Python environment of slow (Collecting lxml)',
      params: { why: { code: 'not_ready.building', params: { project: 'slow', progress: 'Collecting lxml' } } }
    })
    expect(plan.waiting.lines.get(lanes[0]!.key)?.code).toBe('all_slots_busy')
  })

  it('fills the least loaded node first, by its share of slots', () => {
    const plan = planFor([aLine(['a', 'b', 'c'])], [aNode({ slots: 4, used: 2 }), aNode({ id: N2, slots: 2 })])
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1'],
      ['c', 'n2']
    ])
    expect(waits(plan)).toEqual([])
  })

  it('prefers a node that has the egg to an emptier one that lacks it', () => {
    const nodes = [aNode({ used: 1 }), aNode({ id: N2 })]
    const plan = planFor([aLine(['a'])], nodes, { eggState: (nodeId) => (nodeId === 'n1' ? 'present' : 'absent') })
    expect(placed(plan)).toEqual([['a', 'n1']])
    expect(plan.uploads).toEqual([])
  })

  it('sends the egg to as many nodes as the jobs would use, and gives that as the reason', () => {
    const nodes = [aNode(), aNode({ id: N2 }), aNode({ id: aNodeId('n3') })]
    const plan = planFor([aLine(['a', 'b'])], nodes, { eggState: () => 'absent' })
    expect(plan.uploads.map(({ nodeId }) => nodeId)).toEqual(['n1', 'n2'])
    expect(waits(plan)).toEqual([{ code: 'egg_on_its_way', text: 'version 1 is being sent to eu-1' }])
  })

  it('sends no second egg for a job that waits for the first', () => {
    const nodes = [aNode(), aNode({ id: N2 })]
    const plan = planFor([aLine(['a'])], nodes, {
      eggState: (nodeId): EggState => (nodeId === 'n1' ? 'sending' : 'absent')
    })
    expect(plan.uploads).toEqual([])
    expect(waits(plan)[0]?.code).toBe('egg_on_its_way')
  })

  it.each([
    ['there is no node', [], {}, 'no_nodes'],
    ['the node is down', [aNode({ unavailable: 'down' })], {}, 'nodes_down'],
    ['the node is cordoned', [aNode({ mode: 'cordoned' })], {}, 'nodes_cordoned'],
    ['the node has no Python for it', [aNode()], { whyNotReady: () => say('not_ready.no_python') }, 'python_not_ready'],
    ['all slots are busy', [aNode({ used: 2 })], {}, 'all_slots_busy'],
    ['the version is gone', [aNode()], { versionOf: () => null }, 'version_missing'],
    ['the queue is paused', [aNode()], { isPaused: true }, 'paused'],
    ['nobody has the egg', [aNode()], { eggState: () => 'never' as const }, 'egg_refused'],
    ['the node refused it lately', [aNode()], { isBackedOff: () => true }, 'node_refused']
  ] as const)('says why a job waits when %s', (_case, nodes, values, code) => {
    const plan = planFor([aLine(['a'])], [...nodes], values)
    expect(plan.assignments).toEqual([])
    expect(waits(plan)).toEqual([{ code, text: expect.stringMatching(/\w{3}/) }])
  })

  it('names a cordoned node if only that one could take the job', () => {
    const nodes = [aNode({ mode: 'cordoned' }), aNode({ id: N2, name: 'us-1', mode: 'draining', tags: ['us'] })]
    const waitOf = (placement: QueueLine['placement']) => waits(planFor([aLine(['a'], { placement })], nodes))[0]?.text
    expect(waitOf({ nodeId: aNodeId('n1'), tags: [] })).toBe('eu-1 is cordoned')
    expect(waitOf({ nodeId: null, tags: ['us'] })).toBe('us-1 is cordoned')
    expect(waitOf({ nodeId: null, tags: [] })).toBe('every node that could run the job is cordoned')
  })

  it('uses only the node and the tags that a job requires', () => {
    const nodes = [aNode({ tags: ['eu'] }), aNode({ id: N2, tags: ['eu', 'big'] })]
    const tagged = aLine(['a'], { placement: { nodeId: null, tags: ['eu', 'big'] } })
    const pinned = aLine(['b'], { placement: { nodeId: aNodeId('n1'), tags: [] } })
    const nowhere = aLine(['c'], { placement: { nodeId: null, tags: ['us'] } })
    const plan = planFor([tagged, pinned, nowhere], nodes)
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1']
    ])
    expect(waits(plan)).toEqual([{ code: 'no_matching_node', text: 'no node is tagged us' }])
  })

  it('alternates between projects of equal priority, and sends a higher priority first, whatever its project already has', () => {
    const big = aLine(['a1', 'a2', 'a3', 'a4'])
    const small = aLine(['b1'], { project: 'news' })
    const urgent = aLine(['u1'], { version: '2', priority: 5 })
    const plan = planFor([big, small, urgent], [aNode({ slots: 3 })])
    expect(placed(plan).map(([jobId]) => jobId)).toEqual(['u1', 'b1', 'a1'])
  })

  it('applies conditions on tags, and names them', () => {
    const nodes = [aNode({ tags: ['eu', 'slow'] }), aNode({ id: N2, tags: ['us'], slots: 1 })]
    const plan = planFor([aLine(['a', 'b'], { placement: { nodeId: null, tags: ['!slow', 'eu|us'] } })], nodes)
    expect(placed(plan)).toEqual([['a', 'n2']])
    expect(waits(plan).map(({ text }) => text)).toEqual(['the slot tagged eu or us, not slow is busy'])
  })

  it('queues a job ahead on a node only when no slot is free anywhere', () => {
    const nodes = [aNode({ slots: 1, queueAhead: 2 }), aNode({ id: N2, slots: 2 })]
    const plan = planFor([aLine(['a', 'b', 'c', 'd', 'e', 'f'])], nodes)
    expect(placed(plan).map(([, nodeId]) => nodeId)).toEqual(['n1', 'n2', 'n2', 'n1', 'n1'])
    expect(render(plan.assignments.at(-1)!.because)).toBe('place 2 of 2 ahead in its queue, has the egg')
    expect(waits(plan)).toEqual([{ code: 'all_slots_busy', text: 'all 3 slots are busy' }])
  })

  it('probes for another slot of a node only when no known slot is free anywhere, and gives that as the reason', () => {
    const nodes = [aNode({ slots: 1, used: 1, isTrying: true }), aNode({ id: N2, slots: 4, used: 3 })]
    const plan = planFor([aLine(['a', 'b', 'c'])], nodes)
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1']
    ])
    expect(render(plan.assignments.at(-1)!.because)).toBe('tried for another slot, has the egg')
    expect(waits(plan)).toEqual([{ code: 'all_slots_busy', text: 'all 5 slots are busy' }])
  })

  it('gives a node no more jobs than it may receive now', () => {
    const plan = planFor([aLine(['a', 'b', 'c'])], [aNode({ slots: 8, roomMax: 1 })])
    expect(placed(plan)).toEqual([['a', 'n1']])
  })

  it('jobs of a paused project wait, others are sent', () => {
    const plan = planFor([aLine(['a']), aLine(['b'], { project: 'news' })], [aNode()], {
      isProjectPaused: (project) => project === 'shop'
    })
    expect(placed(plan)).toEqual([['b', 'n1']])
    expect(waits(plan)).toEqual([{ code: 'project_paused', text: 'shop is paused' }])
  })

  it('stops at the allowed number, and gives no reason for the rest', () => {
    const plan = planFor([aLine(['a', 'b']), aLine(['c'], { project: 'news' })], [aNode({ slots: 9 })], {
      assignmentsMax: 2
    })
    expect([placed(plan).length, plan.isPartial, waits(plan)]).toEqual([2, true, []])
  })

  describe('limits', () => {
    it.each([
      [
        'a project',
        aRule({ project: SHOP, max: 2 }),
        ['a', 'b', 'x'],
        'the limit of 2 runs of project shop is reached (2 live)'
      ],
      ['a spider', aRule({ spider: 'price*' }), ['a', 'x'], 'the limit of 1 run of price* is reached (1 live)'],
      [
        'each node',
        aRule({ spider: 'prices', perNode: true }),
        ['a', 'b', 'x'],
        'the limit of 1 run of prices is reached on each node with a free slot (1 live)'
      ],
      ['a tag', aRule({ tag: 'eu', project: SHOP }), ['a', 'b', 'c', 'x'], null],
      ['a tag, each node', aRule({ tag: 'eu', project: SHOP, perNode: true }), ['a', 'b', 'c', 'x'], null],
      ['nothing at all', aRule({ project: SHOP, max: 0 }), ['x'], 'no run of project shop may start: the limit is 0']
    ])('of %s are enforced, and are named where they apply', (_of, rule, ids, text) => {
      const nodes = [aNode({ tags: ['eu'], slots: 2 }), aNode({ id: N2, slots: 3 })]
      const lines = [aLine(['a', 'b', 'c']), aQueueLine({ project: 'news', lanes: { stock: ['x'] } })]
      const plan = planFor(lines, nodes, { limits: withLimits(rule) })
      expect(
        placed(plan)
          .map(([jobId]) => jobId)
          .sort()
      ).toEqual(ids)
      expect(waits(plan)).toEqual(text === null ? [] : [{ code: 'limit', text }])
    })

    it('that keep a spider from every node without the egg do not stop other spiders from sending it there', () => {
      const limits = withLimits(aRule({ spider: 'price*', perNode: true }))
      limits.count({ project: aProjectName('news'), spider: 'prices', nodeId: aNodeId('n1') }, 1)
      const line = aQueueLine({ lanes: { prices: ['a'], stock: ['b'] } })
      const plan = planFor([line], [aNode({ used: 1 })], { limits, eggState: () => 'absent' })
      expect(plan.uploads).toEqual([{ nodeId: 'n1', project: 'shop', version: '1' }])
      expect([...plan.waiting.lanes.values()]).toMatchObject([{ code: 'limit' }])
    })

    it('that are reached on every node are checked once, not for each queue that they apply to', () => {
      const limits = withLimits(aRule({ spider: 'price*', perNode: true }))
      const nodes = Array.from({ length: 20 }, (_, index) => aNode({ id: aNodeId(`n${index}`), used: 1 }))
      for (const { id } of nodes) limits.count({ project: aProjectName('news'), spider: 'prices', nodeId: id }, 1)
      const lines = Array.from({ length: 20 }, (_, index) => aLine([`j${index}`], { project: `shop${index}` }))
      let asked = 0
      const plan = planFor(lines, nodes, {
        limits,
        eggState() {
          asked += 1
          return 'present'
        }
      })
      expect(plan.assignments).toEqual([])
      expect(plan.waiting.lanes.size).toBe(20)
      expect(asked).toBeLessThanOrEqual(40)
    })

    it('count live jobs, and a reached one is named even if all slots are busy', () => {
      const limits = withLimits(aRule({ spider: 'prices', max: 2 }))
      for (const nodeId of ['n1', 'n9']) limits.count({ project: SHOP, spider: 'prices', nodeId: aNodeId(nodeId) }, 1)
      expect(waits(planFor([aLine(['a'])], [aNode()], { limits }))[0]?.text).toBe(
        'the limit of 2 runs of prices is reached (2 live)'
      )
      const busy = planFor([aLine(['a'])], [aNode({ used: 2 })], { limits })
      expect(busy.waiting.lanes.values().next().value?.text).toBe('the limit of 2 runs of prices is reached (2 live)')
    })
  })
})

describe('properties of place', () => {
  const nodes = fc
    .uniqueArray(
      fc.record({
        id: fc.constantFrom('n1', 'n2', 'n3', 'n4'),
        slots: fc.integer({ min: 1, max: 5 }),
        queueAhead: fc.nat(2),
        isTrying: fc.boolean(),
        used: fc.nat(6),
        mode: fc.constantFrom('active' as const, 'cordoned' as const, 'draining' as const),
        unavailable: fc.constantFrom(null, 'down' as const),
        tags: fc.subarray(['eu', 'big'])
      }),
      { selector: ({ id }) => id }
    )
    .map((list) => list.map((node) => aNode(node)))
  const lanes = fc
    .array(
      fc.record({
        project: fc.constantFrom('shop', 'news'),
        counts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
        tags: fc.subarray(['eu', '!big', 'eu|big']),
        priority: fc.integer({ min: -1, max: 1 })
      }),
      { maxLength: 4 }
    )
    .map((list) =>
      list.map(({ project, counts, tags, priority }, index) =>
        aQueueLine({
          project,
          version: String(index),
          placement: { nodeId: null, tags },
          priority,
          lanes: Object.fromEntries(
            counts.map((count, lane) => [
              `s${lane}`,
              Array.from({ length: count }, (_, job) => `l${index}s${lane}j${job}`)
            ])
          )
        })
      )
    )
  const rules = fc.array(
    fc.record({
      project: fc.constantFrom(null, 'shop'),
      spider: fc.constantFrom(null, 's0', 's*'),
      tag: fc.constantFrom(null, 'eu'),
      perNode: fc.boolean(),
      max: fc.nat(4)
    }),
    { maxLength: 3 }
  )
  const bookOf = (list: Plain<Omit<LimitRule, 'id'>>[]) =>
    withLimits(...list.map((rule, index) => aRule({ ...rule, id: String(index) })))
  const jobsOf = (line: QueueLine) => [...line.lanes.values()].flatMap(({ jobs }) => jobs)
  const eggs = fc.dictionary(
    fc.constantFrom('n1', 'n2', 'n3', 'n4'),
    fc.constantFrom<EggState>('present', 'sending', 'absent', 'never')
  )

  /** A plugin's choice: any node per job, even one that must not run it or does not exist. */
  const choices = fc.array(fc.constantFrom('n1', 'n2', 'n3', 'n4', 'gone'), { maxLength: 5 })
  const chosenIn = (queue: QueueLine[], all: string[]) => {
    const jobs = all.length === 0 ? [] : queue.flatMap(jobsOf)
    return {
      chosen: new Map(jobs.map(({ id }, index) => [id, { node: all[index % all.length]!, why: '' }] as const))
    }
  }

  it('never exceeds a node, places each job once and only where it may run, and gives a reason for every other job', () => {
    fc.assert(
      fc.property(lanes, nodes, eggs, rules, choices, (queue, fleet, eggOf, list, said) => {
        const eggState = (nodeId: string) => eggOf[nodeId] ?? 'present'
        const plan = planFor(queue, fleet, { eggState, limits: bookOf(list), ...chosenIn(queue, said) })
        const assigned = new Set(plan.assignments.map(({ job }) => job.id))
        expect(assigned.size).toBe(plan.assignments.length)
        for (const node of fleet) {
          const given = plan.assignments.filter(({ nodeId }) => nodeId === node.id)
          expect(given.length).toBeLessThanOrEqual(Math.max(0, mostOn(node) - node.used))
          expect(given.every(({ line }) => meetsTags(line.placement.tags, node.tags))).toBe(true)
          if (given.length > 0)
            expect([node.unavailable, node.mode, eggOf[node.id] ?? 'present']).toEqual([null, 'active', 'present'])
        }
        for (const line of queue) {
          for (const lane of line.lanes.values()) {
            const isLeft = lane.jobs.some(({ id }) => !assigned.has(id))
            const { lines, lanes: ofLanes } = plan.waiting
            if (isLeft) expect([lane.lane, lines.has(line.key) || ofLanes.has(lane.lane)]).toEqual([lane.lane, true])
          }
        }
      })
    )
  })

  it('no limit is ever exceeded', () => {
    fc.assert(
      fc.property(lanes, nodes, rules, choices, (queue, fleet, list, said) => {
        const plan = planFor(queue, fleet, { limits: bookOf(list), ...chosenIn(queue, said) })
        const book = bookOf(list)
        for (const { lane, line, nodeId } of plan.assignments) {
          book.count({ project: line.project, spider: line.lanes.get(lane)!.spider, nodeId }, 1)
        }
        for (const { rule, byNode } of book.rules()) {
          const there = fleet.filter(({ tags }) => rule.tag === null || tags.includes(rule.tag))
          const counts = there.map(({ id }) => byNode.get(id) ?? 0)
          const most = rule.perNode ? Math.max(0, ...counts) : counts.reduce((sum, count) => sum + count, 0)
          expect(most).toBeLessThanOrEqual(rule.max)
        }
      })
    )
  })

  it('uses every slot that a waiting job could use, and no more, whatever a plugin chooses', () => {
    fc.assert(
      fc.property(lanes, nodes, choices, (queue, fleet, said) => {
        const plan = planFor(queue, fleet, chosenIn(queue, said))
        const assigned = new Set(plan.assignments.map(({ job }) => job.id))
        for (const node of fleet) {
          const given = plan.assignments.filter(({ nodeId }) => nodeId === node.id).length
          expect(given).toBeLessThanOrEqual(Math.max(0, mostOn(node) - node.used))
        }
        for (const line of queue.filter((one) => jobsOf(one).some(({ id }) => !assigned.has(id)))) {
          for (const node of fleet.filter(
            (one) => one.unavailable === null && one.mode === 'active' && meetsTags(line.placement.tags, one.tags)
          )) {
            const given = plan.assignments.filter(({ nodeId }) => nodeId === node.id).length
            expect(node.used + given).toBeGreaterThanOrEqual(mostOn(node))
          }
        }
      })
    )
  })

  it('equals the plan of an algorithm without heaps and indexes', () => {
    fc.assert(
      fc.property(lanes, nodes, (queue, fleet) => {
        expect(placed(planFor(queue, fleet))).toEqual(naively(queue, fleet))
        expect(placed(planFor(queue, fleet, { chosen: new Map() }))).toEqual(naively(queue, fleet))
      })
    )
  })

  function naively(queue: QueueLine[], fleet: PlaceableNode[]): string[][] {
    const left = queue.flatMap((line) => jobsOf(line).map((job) => ({ line, job })))
    const slotsOf = new Map<string, number>()
    const used = new Map(fleet.map(({ id, used }) => [id, used]))
    const result: string[][] = []
    for (;;) {
      const placements = left.flatMap(({ line, job }) => {
        const fits = fleet.filter(
          (node) =>
            node.unavailable === null &&
            node.mode === 'active' &&
            meetsTags(line.placement.tags, node.tags) &&
            used.get(node.id)! < mostOn(node)
        )
        const byShare = (one: PlaceableNode, other: PlaceableNode) =>
          used.get(one.id)! / one.slots - used.get(other.id)! / other.slots || (one.id < other.id ? -1 : 1)
        return fits.length === 0 ? [] : [{ line, job, node: fits.sort(byShare)[0]! }]
      })
      const share = ({ project }: QueueLine) => slotsOf.get(project) ?? 0
      const [next] = placements.sort(
        (one, other) =>
          other.job.priority - one.job.priority ||
          share(one.line) - share(other.line) ||
          (one.job.id < other.job.id ? -1 : 1)
      )
      if (next === undefined) return result
      left.splice(
        left.findIndex(({ job }) => job === next.job),
        1
      )
      slotsOf.set(next.line.project, share(next.line) + 1)
      used.set(next.node.id, used.get(next.node.id)! + 1)
      result.push([next.job.id, next.node.id])
    }
  }

  it('the same input gives the same plan', () => {
    fc.assert(
      fc.property(lanes, nodes, rules, (queue, fleet, list) => {
        const plan = () => planFor(queue, fleet, { limits: bookOf(list) })
        expect(plan()).toEqual(plan())
      })
    )
  })
})

describe('a plugin that chooses nodes', () => {
  const fleet = () => [
    aNode({ slots: 1 }),
    aNode({ id: N2, name: 'eu-2', slots: 2 }),
    aNode({ id: 'n3', used: 2 }),
    aNode({ id: 'n4', tags: ['big'] })
  ]
  const eggState = (nodeId: string): EggState => (nodeId === 'n4' ? 'absent' : 'present')
  const say = (choices: Record<string, string>) => ({
    eggState,
    chosen: new Map(Object.entries(choices).map(([id, node]) => [id, { node, why: '' }]))
  })

  it('receives the nodes with room for each job, including those that the plan fills and those that lack the egg', () => {
    const { assignments } = planFor([aLine(['a', 'b', 'c'])], fleet(), say({}))
    expect(assignments.map(({ candidates }) => candidates.map(({ id }) => id))).toEqual(
      Array(3).fill(['n1', 'n2', 'n4'])
    )
    const without = planFor([aLine(['a'])], fleet(), { eggState })
    expect(without.assignments.map(({ candidates }) => candidates)).toEqual([[]])
  })

  it('decides among them, but a node without room or barred from the job is ignored', () => {
    const plan = planFor([aLine(['a', 'b', 'c'])], fleet(), say({ a: 'n2', b: 'n3' }))
    expect(placed(plan)).toEqual([
      ['a', 'n2'],
      ['b', 'n1'],
      ['c', 'n2']
    ])
    const pinned = aLine(['d'], { placement: { nodeId: aNodeId('n1'), tags: [] } })
    expect(placed(planFor([pinned], fleet(), say({ d: 'n2' })))).toEqual([['d', 'n1']])
    const oneEach = { ...say({ a: 'n2', b: 'n2' }), limits: withLimits(aRule({ perNode: true })) }
    expect(placed(planFor([aLine(['a', 'b'])], fleet(), oneEach))).toEqual([
      ['a', 'n2'],
      ['b', 'n1']
    ])
    const refused = { ...say({ a: 'n2' }), isBackedOff: (nodeId: string) => nodeId === 'n2' }
    expect(placed(planFor([aLine(['a'])], fleet(), refused))).toEqual([['a', 'n1']])
  })

  it('has the egg sent once to a node without it, and jobs wait for that even if they could run elsewhere', () => {
    const plan = planFor([aLine(['a', 'b', 'c'])], fleet(), say({ a: 'n4', b: 'n4' }))
    expect(plan.uploads.map(({ nodeId }) => nodeId)).toEqual(['n4'])
    expect(placed(plan)).toEqual([['c', 'n1']])
    expect(waits(plan)).toMatchObject([{ code: 'egg_on_its_way' }])
    const sending = {
      ...say({ a: 'n4' }),
      eggState: (nodeId: string) => (nodeId === 'n4' ? 'sending' : 'present') as EggState
    }
    const next = planFor([aLine(['a'])], fleet(), sending)
    expect([placed(next), next.uploads]).toEqual([[], []])
    const refused = {
      ...say({ a: 'n4' }),
      eggState: (nodeId: string) => (nodeId === 'n4' ? 'never' : 'present') as EggState
    }
    expect(placed(planFor([aLine(['a'])], fleet(), refused))).toEqual([['a', 'n1']])
  })

  it('receives at most fifty nodes of a large fleet, the least loaded ones', () => {
    const many = Array.from({ length: 80 }, (_, at) =>
      aNode({ id: `m${String(at).padStart(2, '0')}`, slots: 10, used: at < 40 ? 1 : 0 })
    )
    const [first] = planFor([aLine(['a'])], many, say({ a: 'm05' })).assignments
    const ids = first!.candidates.map(({ id }) => String(id))
    expect([ids.length, ids[0], ids.at(-1), String(first!.nodeId)]).toEqual([50, 'm40', 'm09', 'm05'])
  })
})

describe('nodes that keep few logs of a spider', () => {
  it('get another run of it only if that deletes no log of a running one; other spiders and nodes do not wait', () => {
    const few = aNode({ slots: 8, logsKept: 1 })
    const newerLogs = (nodeId: string, _project: string, spider: string) =>
      nodeId === 'n1' && spider === 'prices' ? 1 : null
    const prices = aLine(['a', 'b'])
    const plan = planFor([prices, aLine(['c'], { lanes: { news: ['c'] } })], [few], { newerLogs })
    expect(placed(plan).map(([id]) => id)).toEqual(['c'])
    expect(plan.awaitsLogs).toBe(true)
    expect(waits(plan)).toEqual([
      {
        code: 'limit',
        text: 'eu-1 keeps 1 log of a spider: another run of prices would delete the log of a running one'
      }
    ])
    const both = planFor([aLine(['a', 'b'])], [few, aNode({ id: 'n2', name: 'eu-2' })], { newerLogs })
    expect(placed(both)).toEqual([
      ['a', 'n2'],
      ['b', 'n2']
    ])
  })

  it('receive at most one job more than they keep at once', () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    expect(placed(planFor([aLine(ids)], [aNode({ slots: 8, logsKept: 2 })]))).toHaveLength(3)
    expect(placed(planFor([aLine(ids)], [aNode({ slots: 8 })]))).toHaveLength(5)
  })
})
