import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DaemonStatusAnswer, ListJobsAnswer, readDaemonStatus, readListJobs } from './answers.ts'

const anything = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, undefined, true, -0),
  fc.object()
)
const orAnything = <T>(right: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: anything })
const text = orAnything(fc.string())
const textOrNone = orAnything(fc.constantFrom('x', null, undefined))
const aJob = fc.record({
  id: text,
  project: text,
  spider: text,
  pid: orAnything(fc.constantFrom(7, null, undefined)),
  start_time: textOrNone,
  end_time: textOrNone,
  log_url: textOrNone
})
const aList = orAnything(fc.array(orAnything(aJob), { maxLength: 3 }))

test('the hand-written reader of lists accepts exactly what the schema accepts, with the same result', () => {
  let believed = 0
  fc.assert(
    fc.property(fc.record({ pending: aList, running: aList, finished: aList }), (answer) => {
      const bySchema = ListJobsAnswer.safeParse(answer)
      const byHand = readListJobs(answer)
      believed += byHand === null ? 0 : 1
      expect(byHand !== null).toBe(bySchema.success)
      if (byHand !== null) expect(ListJobsAnswer.parse(byHand)).toEqual(bySchema.data)
    }),
    { numRuns: 2_000 }
  )
  expect(believed).toBeGreaterThan(200)
})

test('the hand-written reader of counters accepts exactly what the schema accepts, with the same result', () => {
  const count = orAnything(fc.nat())
  const counters = fc.record({ pending: count, running: count, finished: count, node_name: textOrNone })
  fc.assert(
    fc.property(counters, (answer) => {
      const bySchema = DaemonStatusAnswer.safeParse(answer)
      expect(readDaemonStatus(answer)).toEqual(bySchema.success ? bySchema.data : null)
    }),
    { numRuns: 1_000 }
  )
})
