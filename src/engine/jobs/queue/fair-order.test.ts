import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { aQueueLine } from '../../testing/queue-builders.ts'
import { FairOrder, type ProjectShare, type QueueLine } from './fair-order.ts'
import { FairShares } from './fair-shares.ts'

const EQUAL: ProjectShare = { slots: 0, weight: 1, pass: 0 }

function drain(order: FairOrder): string[] {
  const ids: string[] = []
  for (let head = order.current(); head !== null; head = order.current()) {
    ids.push(head.job.id)
    order.acceptJob()
  }
  return ids
}

const idsOf = (lines: QueueLine[], shareOf = (_project: string) => EQUAL) => drain(new FairOrder(lines, shareOf))

describe('the order of the queue', () => {
  it('alternates between projects, oldest job first within one', () => {
    const lines = [
      aQueueLine({ project: 'big', lanes: { prices: ['a1', 'a3'], stock: ['a2', 'a4'] } }),
      aQueueLine({ project: 'small', lanes: { prices: ['b1'] } })
    ]
    expect(idsOf(lines)).toEqual(['a1', 'b1', 'a2', 'a3', 'a4'])
  })

  it('prefers the project with fewer slots relative to its weight', () => {
    const lines = [
      aQueueLine({ project: 'busy', lanes: { prices: ['a1', 'a2'] } }),
      aQueueLine({ project: 'idle', lanes: { prices: ['b1', 'b2'] } })
    ]
    const holdsTwo = (project: string) => ({ ...EQUAL, slots: project === 'busy' ? 2 : 0 })
    expect(idsOf(lines, holdsTwo)).toEqual(['b1', 'b2', 'a1', 'a2'])
    const heavy = (project: string) => ({ ...holdsTwo(project), weight: project === 'busy' ? 4 : 1 })
    expect(idsOf(lines, heavy)).toEqual(['b1', 'a1', 'a2', 'b2'])
  })

  it('stops when the prefetched heads of a lane end before the lane does', () => {
    const urgent = aQueueLine({ project: 'a', lanes: { prices: ['a1', 'a2'] }, priority: 5, hasMore: true })
    const other = aQueueLine({ project: 'b', lanes: { prices: ['b1'] } })
    const order = new FairOrder([urgent, other], () => EQUAL)
    expect(drain(order)).toEqual(['a1', 'a2'])
    expect(order.endedAt?.spider).toBe('prices')
  })

  it('skips a job, a lane or a queue and continues with the next', () => {
    const line = aQueueLine({ project: 'a', lanes: { prices: ['a1', 'a3', 'a5'], stock: ['a2', 'a6'] } })
    const other = aQueueLine({ project: 'a', version: '2', lanes: { prices: ['a4', 'a7'] } })
    const order = new FairOrder([line, other], () => EQUAL)
    const seen: string[] = []
    const next = () => seen.push(order.current()?.job.id ?? 'end')
    next()
    order.skipJob()
    next()
    order.skipLane()
    next()
    order.skipLine()
    next()
    order.acceptJob()
    next()
    order.acceptJob()
    next()
    expect(seen).toEqual(['a1', 'a2', 'a3', 'a4', 'a7', 'end'])
  })

  const someLines = fc
    .array(
      fc.record({
        project: fc.constantFrom('a', 'b', 'c'),
        version: fc.constantFrom('1', '2'),
        counts: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
        priority: fc.integer({ min: -2, max: 2 })
      }),
      { maxLength: 5 }
    )
    .map((list) =>
      list.map(({ project, version, counts, priority }, index) =>
        aQueueLine({
          project,
          version: `${version}-${index}`,
          priority,
          lanes: Object.fromEntries(
            counts.map((count, lane) => [
              `s${lane}`,
              Array.from({ length: count }, (_, job) => `${index}-${lane}-${job}`)
            ])
          )
        })
      )
    )
  const jobsOf = (lines: QueueLine[]) => lines.flatMap(({ lanes }) => [...lanes.values()].flatMap(({ jobs }) => jobs))

  it('returns every job once, never a lower priority before a higher one', () => {
    fc.assert(
      fc.property(someLines, (lines) => {
        const ids = idsOf(lines)
        const priorityOf = new Map(jobsOf(lines).map(({ id, priority }) => [id, priority]))
        expect([...ids].sort()).toEqual([...priorityOf.keys()].sort())
        const priorities = ids.map((id) => priorityOf.get(aJobId(id))!)
        expect(priorities).toEqual([...priorities].sort((left, right) => right - left))
      })
    )
  })
})

describe('weighted fairness over time', () => {
  /**
   * Simulates projects that always have jobs, while slots become free at random. Returns what each project got and
   * held.
   */
  function simulate(weights: number[], slots: number, rounds: number, pickSlot: (busy: number) => number) {
    const shares = new FairShares()
    const names = weights.map((_, index) => `p${index}`)
    const live: string[] = []
    const begun = new Map(names.map((name) => [name, 0]))
    const held = new Map(names.map((name) => [name, 0]))
    for (let round = 0; round < rounds; round += 1) {
      if (live.length === slots) live.splice(pickSlot(live.length), 1)
      while (live.length < slots) {
        const lines = names.map((project, index) =>
          // The first project's jobs are always the oldest.
          aQueueLine({ project, lanes: { prices: [`${index}-${round}`] } })
        )
        const order = new FairOrder(lines, (project) => ({
          slots: live.filter((one) => one === project).length,
          weight: weights[names.indexOf(project)]!,
          pass: shares.passOf(project)
        }))
        const { project } = order.current()!.line
        shares.raiseFloor(order.passFloor)
        shares.advance(project, weights[names.indexOf(project)]!)
        live.push(project)
        begun.set(project, begun.get(project)! + 1)
      }
      for (const project of live) held.set(project, held.get(project)! + 1)
    }
    return { begun: names.map((name) => begun.get(name)!), held: names.map((name) => held.get(name)! / rounds) }
  }

  const weights = fc.array(fc.constantFrom(1, 2, 3, 5), { minLength: 2, maxLength: 4 })
  const seeds = fc.infiniteStream(fc.nat())

  it('the slots that projects hold approach their weights', () => {
    fc.assert(
      fc.property(weights, seeds, (list, numbers) => {
        const total = list.reduce((sum, weight) => sum + weight, 0)
        const slots = total * 3
        const { held } = simulate(list, slots, 300, (busy) => numbers.next().value! % busy)
        for (const [index, weight] of list.entries()) {
          expect(Math.abs(held[index]! - weight * 3)).toBeLessThan(2)
        }
      }),
      { numRuns: 20 }
    )
  })

  it('with a single slot the runs approach the weights, and no project starves', () => {
    fc.assert(
      fc.property(weights, (list) => {
        const total = list.reduce((sum, weight) => sum + weight, 0)
        const { begun } = simulate(list, 1, total * 20, () => 0)
        for (const [index, weight] of list.entries()) {
          expect(Math.abs(begun[index]! - weight * 20)).toBeLessThanOrEqual(2)
        }
      }),
      { numRuns: 20 }
    )
  })

  it('a project that was idle gets its share from now on, without compensation for the past', () => {
    const shares = new FairShares()
    for (let count = 0; count < 1000; count += 1) {
      shares.raiseFloor(shares.passOf(aProjectName('busy')))
      shares.advance(aProjectName('busy'), 1)
    }
    expect(shares.passOf(aProjectName('busy')) - shares.passOf(aProjectName('idle'))).toBe(1)
  })
})
