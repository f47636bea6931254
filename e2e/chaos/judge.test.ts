import { describe, expect, it } from 'vitest'
import { aJobId, aNodeId } from '../../src/shared/testing/ids.ts'
import { complaintsOf, judge, type NodeDeath, type Told, type ToldAttempt } from './judge.ts'
import { parseTruth, type Run } from './truth.ts'

const aRun = (over: Partial<Run> = {}): Run => ({
  number: 1,
  jobid: 'a',
  node: 'node-1',
  pid: 10,
  beganAtMs: 1_000,
  endedAtMs: 2_000,
  ...over
})
const anAttempt = (over: Partial<ToldAttempt> = {}): ToldAttempt => ({
  jobid: 'a',
  nodeId: aNodeId('n1'),
  result: 'succeeded',
  sentAtMs: 500,
  endedAtMs: 3_000,
  ...over
})
const aTelling = (over: Partial<Told['job']> = {}, attempts: ToldAttempt[] = [anAttempt()]): Told => ({
  number: 1,
  job: { id: aJobId('a'), state: 'ended', status: 'succeeded', mayHaveRunTwice: false, ...over },
  attempts
})
const aDeath = (over: Partial<NodeDeath> = {}): NodeDeath => ({
  node: 'node-1',
  atMs: 1_500,
  withSpiders: true,
  ...over
})

function verdictOn(facts: { told?: Told[]; runs?: Run[]; deaths?: NodeDeath[]; id?: string | null }) {
  return judge({
    asked: [{ number: 1, id: facts.id === undefined ? 'a' : facts.id }],
    told: facts.told ?? [aTelling()],
    runs: facts.runs ?? [aRun()],
    deaths: facts.deaths ?? [],
    nodeNames: new Map([['n1', 'node-1']])
  })
}
const complaintsOn = (facts: Parameters<typeof verdictOn>[0]) => complaintsOf(verdictOn(facts), 2)

describe('the verdict of a chaos run', () => {
  it('has no complaint about a job that ran once and is reported so', () => {
    expect(complaintsOn({})).toEqual([])
    expect(verdictOn({})).toMatchObject({ acknowledged: 1, runs: 1, outcomes: { succeeded: 1 }, duplicated: [] })
  })

  it('complains about an acknowledged job that is gone, or never ran without a reason', () => {
    expect(complaintsOn({ told: [], runs: [] })).toEqual(['1 acknowledged jobs are gone: 1'])
    const failed = aTelling({ status: 'failed' }, [anAttempt({ result: 'failed' })])
    expect(complaintsOn({ told: [failed], runs: [] })).toEqual([
      '1 acknowledged jobs never ran, and nothing explains it: 1'
    ])
  })

  it('accepts the death of its node as a reason, while the job was there', () => {
    const lost = aTelling({ status: 'lost' }, [anAttempt({ result: 'lost' })])
    expect(complaintsOn({ told: [lost], runs: [], deaths: [aDeath()] })).toEqual([])
    expect(verdictOn({ told: [lost], runs: [], deaths: [aDeath()] }).neverRanButExplained).toEqual([1])
    for (const death of [aDeath({ atMs: 400 }), aDeath({ atMs: 3_001 }), aDeath({ node: 'node-2' })]) {
      expect(complaintsOn({ told: [lost], runs: [], deaths: [death] })).toHaveLength(1)
    }
  })

  it('expects nothing of a job that was never acknowledged, but judges it if it was stored', () => {
    expect(complaintsOn({ id: null, told: [], runs: [] })).toEqual([])
    expect(complaintsOn({ id: null })).toEqual([])
    expect(complaintsOn({ id: null, told: [aTelling({ state: 'queued', status: 'queued' })], runs: [] })).toHaveLength(
      1
    )
  })

  it('complains about a success without a completed run', () => {
    const words = '1 jobs are said to have succeeded, but no run of them came to its end: 1'
    expect(complaintsOn({ runs: [aRun({ endedAtMs: null })] })).toEqual([words])
    expect(complaintsOn({ runs: [] })).toContain(words)
  })

  it('complains about two runs unless they are flagged', () => {
    const runs = [aRun(), aRun({ pid: 11, beganAtMs: 2_500, endedAtMs: 2_600 })]
    expect(complaintsOn({ runs })).toEqual(['1 jobs ran twice without being flagged: 1'])
    expect(complaintsOn({ runs, told: [aTelling({ mayHaveRunTwice: true })] })).toEqual([])
    expect(verdictOn({ runs, told: [aTelling({ mayHaveRunTwice: true })] }).duplicated).toEqual([1])
  })

  it('counts a run after a failed one as a retry, and a run after one reported absent as a duplicate', () => {
    const runs = [aRun({ endedAtMs: null }), aRun({ jobid: 'a-2', pid: 11, beganAtMs: 2_500, endedAtMs: 2_600 })]
    const second = anAttempt({ jobid: 'a-2' })
    const deaths = [aDeath()]
    expect(complaintsOn({ runs, deaths, told: [aTelling({}, [anAttempt({ result: 'failed' }), second])] })).toEqual([])
    const absent = { runs, deaths, told: [aTelling({}, [anAttempt({ result: 'absent' }), second])] }
    expect(complaintsOn(absent)).toEqual(['1 jobs ran twice without being flagged: 1'])
    expect(verdictOn(absent).wronglyAbsent).toEqual(['a'])
  })

  it('reports which duplicates came from retrying a lost run', () => {
    const runs = [aRun({ endedAtMs: null }), aRun({ jobid: 'a-2', pid: 11, beganAtMs: 2_500, endedAtMs: 2_600 })]
    const attempts = [anAttempt({ result: 'lost' }), anAttempt({ jobid: 'a-2' })]
    const told = [aTelling({ mayHaveRunTwice: true }, attempts)]
    expect(verdictOn({ runs, told, deaths: [aDeath()] })).toMatchObject({
      duplicated: [1],
      retriedAfterLoss: [1],
      unflagged: []
    })
  })

  it('complains about a node over its slots; runs that died with their machine count until then', () => {
    const runs = [1, 2, 3].map((number) => aRun({ number, pid: number, endedAtMs: null }))
    expect(complaintsOn({ runs })).toContain('node-1 ran 3 spiders at once, and has 2 slots')
    const later = runs.map((run, index) => ({ ...run, beganAtMs: 1_000 + index * 1_000 }))
    expect(verdictOn({ runs: later }).mostAtOnce).toEqual({ 'node-1': 3 })
    expect(verdictOn({ runs: later, deaths: [aDeath()] }).mostAtOnce).toEqual({ 'node-1': 2 })
  })

  it('complains about a dedupe key with two jobs, and about a job that did not end', () => {
    expect(complaintsOn({ told: [aTelling(), aTelling({ id: aJobId('b') })] })).toEqual([
      '1 dedupe keys have more than one job: 1'
    ])
    expect(complaintsOn({ told: [aTelling({ state: 'running', status: 'running' })] })).toEqual([
      '1 jobs came to no end: 1'
    ])
  })
})

describe('the record written by the runs', () => {
  it('is read up to the last complete line', () => {
    const text = 'begin a node-1 10 1.5 7\nbegin b node-2 11 1.6 8\nend a node-1 10 2.5 7\nend b node-2 11 2.'
    expect(parseTruth(text)).toEqual([
      { number: 7, jobid: 'a', node: 'node-1', pid: 10, beganAtMs: 1_500, endedAtMs: 2_500 },
      { number: 8, jobid: 'b', node: 'node-2', pid: 11, beganAtMs: 1_600, endedAtMs: null }
    ])
  })

  it.each(['begin a node-1 10 1.5\n', 'start a node-1 10 1.5 7\n', 'end a node-1 10 1.5 7\n'])(
    'is rejected if a line is malformed: %j',
    (text) => {
      expect(() => parseTruth(text)).toThrow(/truth/)
    }
  )
})
