import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isOnProbation, judgeLists, type Lists, type StartWatch } from './watchdog.ts'

const lists = (atMs: number, over: Partial<Lists> = {}): Lists => ({
  atMs,
  running: [],
  pending: ['ours'],
  hasOurs: true,
  slots: 4,
  ...over
})

function watched(before: StartWatch | null, fromMs: number, forMs: number, over: Partial<Lists> = {}): StartWatch {
  let watch = before
  for (let atMs = fromMs; atMs <= fromMs + forMs; atMs += 1_000) watch = judgeLists(watch, lists(atMs, over))
  return watch!
}

describe('a node', () => {
  it('is stuck when a job of ours waits beside a free slot for three polls, and not before', () => {
    expect(watched(null, 0, 14_000).stuck).toBeNull()
    expect(watched(null, 0, 15_000).stuck).toEqual({ strikes: 1, tryAgainAtMs: 45_000 })
  })

  it.each([
    ['it has no job of ours', { hasOurs: false }],
    ['all its slots are busy', { slots: 1, running: ['a'] }],
    ['it runs as many as it was ever seen to run: the operator may have set more slots than it has', { running: ['a'] }]
  ])('is not stuck where %s', (_case, over) => {
    expect(watched(null, 0, 600_000, over).stuck).toBeNull()
  })

  it('is stuck if it ran more at once before', () => {
    const before = judgeLists(null, lists(0, { running: ['a', 'b', 'c'] }))
    expect(watched(before, 1_000, 20_000, { running: ['a'] }).stuck).not.toBeNull()
  })

  it('is not stuck while it starts anything, even external jobs or runs that end between two polls', () => {
    let watch: StartWatch | null = null
    for (let atMs = 0; atMs < 600_000; atMs += 10_000) {
      watch = judgeLists(watch, lists(atMs, { pending: [`stranger-${atMs}`, 'ours'] }))
      expect(watch.stuck).toBeNull()
    }
  })

  it('is not stuck because of a time without polls', () => {
    const before = watched(null, 0, 10_000)
    expect(judgeLists(before, lists(600_000)).stuck).toBeNull()
  })

  it('is healthy as soon as it starts a job, and is then granted the time that it needed', () => {
    const stuck = watched(null, 0, 15_000)
    expect(isOnProbation(stuck.stuck!, 44_000)).toBe(false)
    expect(isOnProbation(stuck.stuck!, 45_000)).toBe(true)
    const waiting = watched(stuck, 45_000, 20_000)
    const healthy = judgeLists(waiting, lists(66_000, { running: ['ours'], pending: [] }))
    expect(healthy).toMatchObject({ stuck: null, patienceMs: 63_000 })
  })

  it('that polls rarely is recognized: each try grants it more time', () => {
    let watch: StartWatch | null = null
    let startsAtMs = Number.POSITIVE_INFINITY
    for (let atMs = 0; atMs < 3_600_000; atMs += 1_000) {
      const mayHaveJob: boolean = watch?.stuck == null || isOnProbation(watch.stuck, atMs)
      startsAtMs = mayHaveJob ? Math.min(startsAtMs, atMs + 100_000) : Number.POSITIVE_INFINITY
      const runs: boolean = atMs >= startsAtMs
      watch = judgeLists(watch, lists(atMs, { running: runs ? ['ours'] : [], hasOurs: mayHaveJob && !runs }))
      if (runs) break
    }
    expect(watch).toMatchObject({ stuck: null, patienceMs: 300_000 })
  })
})

it('is never stuck within its grace period after a start, and is then tried forever, at most ten minutes apart', () => {
  const step = fc.record({
    waitMs: fc.integer({ min: 100, max: 20_000 }),
    starts: fc.boolean(),
    ends: fc.boolean(),
    hasOurs: fc.boolean()
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 8 }), (steps, slots) => {
      let watch: StartWatch | null = null
      let atMs = 0
      let running: string[] = []
      let lastStartMs = 0
      for (const [index, { waitMs, starts, ends, hasOurs }] of steps.entries()) {
        atMs += waitMs
        if (ends) running = running.slice(1)
        if (starts && running.length < slots) {
          running = [...running, `run-${index}`]
          lastStartMs = atMs
        }
        const before: StartWatch | null = watch
        watch = judgeLists(before, lists(atMs, { running, hasOurs, slots }))
        if (watch.stuck === null || watch.stuck === before?.stuck) continue
        expect(atMs - lastStartMs).toBeGreaterThanOrEqual(before?.patienceMs ?? 15_000)
        expect(watch.stuck.tryAgainAtMs - atMs).toBeLessThanOrEqual(600_000)
        expect(watch.patienceMs).toBeLessThanOrEqual(300_000)
      }
    })
  )
})
