import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import type { SeenJob, Snapshot } from '../../../nodes/node-client.ts'
import { type Absence, reconcile, type BelievedAttempt } from './reconcile.ts'

const POLL_MS = 5_000
const OPTIONS = { absentSoFar: new Map<string, Absence>(), nodePollIntervalMs: POLL_MS, takenOverApartMs: 30_000 }

function anAttempt(values: Partial<BelievedAttempt> = {}): BelievedAttempt {
  return {
    key: 'job/1',
    project: aProjectName('shop'),
    jobid: 'job',
    state: 'accepted',
    sendEndedAtMs: 0,
    isTakenOverUnresolved: false,
    ...values
  }
}

function aSeenJob(jobid = 'job'): SeenJob {
  return {
    project: aProjectName('shop'),
    spider: 'prices',
    jobid,
    pid: null,
    startTime: null,
    endTime: null,
    exit: null
  }
}

function aSnapshot(values: Partial<Snapshot> = {}): Snapshot {
  return { begunAtMs: 1_000, pending: [], running: [], finished: [], ...values }
}

const verdictOf = (attempt: BelievedAttempt, snapshot: Snapshot) =>
  reconcile([attempt], snapshot, OPTIONS).verdicts[0]?.kind ?? null

describe('what a snapshot proves about an attempt', () => {
  it('an uncertain attempt that is in the queue of the node was accepted', () => {
    expect(verdictOf(anAttempt({ state: 'uncertain' }), aSnapshot({ pending: [aSeenJob()] }))).toBe('accepted')
  })

  it('an attempt is running or finished when the node lists it so, even before its POST was answered', () => {
    const sending = anAttempt({ state: 'sending', sendEndedAtMs: null })
    expect(verdictOf(sending, aSnapshot({ running: [aSeenJob()] }))).toBe('running')
    expect(verdictOf(sending, aSnapshot({ finished: [aSeenJob()] }))).toBe('finished')
  })

  it('a known state is no change', () => {
    expect(verdictOf(anAttempt({ state: 'running' }), aSnapshot({ running: [aSeenJob()] }))).toBeNull()
    expect(verdictOf(anAttempt({ state: 'running' }), aSnapshot({ pending: [aSeenJob()] }))).toBeNull()
    expect(verdictOf(anAttempt({ state: 'finishing' }), aSnapshot())).toBeNull()
  })

  it('the same jobid in another project belongs to another job', () => {
    const stranger = { ...aSeenJob(), project: aProjectName('news') }
    const result = reconcile([anAttempt()], aSnapshot({ running: [stranger] }), OPTIONS)
    expect(result.verdicts).toEqual([])
    expect(result.external.running).toEqual([stranger])
  })

  it('jobs of other clients are external; finished ones do not count', () => {
    const result = reconcile(
      [anAttempt()],
      aSnapshot({ pending: [aSeenJob('a')], running: [aSeenJob()], finished: [aSeenJob('b')] }),
      OPTIONS
    )
    expect(result.external).toEqual({ pending: [aSeenJob('a')], running: [] })
  })
})

describe('an attempt that its node took twice', () => {
  const twiceIn = (snapshot: Partial<Snapshot>) => reconcile([anAttempt()], aSnapshot(snapshot), OPTIONS).twice

  it('is reported when it is in two lists, or twice in one', () => {
    expect(twiceIn({ running: [aSeenJob()], pending: [aSeenJob()] })).toEqual(['job/1'])
    expect(twiceIn({ pending: [aSeenJob(), aSeenJob()] })).toEqual(['job/1'])
    expect(twiceIn({ finished: [aSeenJob()], running: [aSeenJob()] })).toEqual(['job/1'])
  })

  it('is not reported for one that is listed once, for the same jobid in another project, or for external jobs', () => {
    expect(twiceIn({ running: [aSeenJob(), { ...aSeenJob(), project: aProjectName('news') }] })).toEqual([])
    expect(twiceIn({ running: [aSeenJob('a'), aSeenJob('a'), aSeenJob()] })).toEqual([])
  })
})

describe('absence', () => {
  const follow = (attempt: BelievedAttempt, begunAtMs: number[]) => {
    let absentSoFar = new Map<string, Absence>()
    const kinds: (string | null)[] = []
    for (const at of begunAtMs) {
      const result = reconcile([attempt], aSnapshot({ begunAtMs: at }), { ...OPTIONS, absentSoFar })
      kinds.push(result.verdicts[0]?.kind ?? null)
      absentSoFar = result.absences
    }
    return kinds
  }

  it('is proved by two snapshots more than a poll interval apart, and not by many that are closer', () => {
    expect(follow(anAttempt(), [1_000, 6_001])).toEqual([null, 'missing'])
    expect(follow(anAttempt(), [1_000, 2_000, 3_000, 6_000])).toEqual([null, null, null, null])
  })

  it('does not count in a snapshot begun before the POST ended', () => {
    expect(follow(anAttempt({ state: 'uncertain', sendEndedAtMs: 2_000 }), [1_000, 2_000, 7_500])).toEqual([
      null,
      null,
      null
    ])
  })

  it('never counts while the POST is in flight', () => {
    expect(follow(anAttempt({ state: 'sending', sendEndedAtMs: null }), [1_000, 9_000, 90_000])).toEqual([
      null,
      null,
      null
    ])
  })

  it('takes longer to prove if the sending engine died, because its POST may still be delivered', () => {
    const takenOver = anAttempt({ state: 'uncertain', isTakenOverUnresolved: true })
    expect(follow(takenOver, [1_000, 6_001, 31_000, 31_001])).toEqual([null, null, null, 'missing'])
    // The request has arrived, so the longer interval no longer applies.
    expect(follow({ ...takenOver, state: 'running' }, [1_000, 6_001])).toEqual([null, 'missing'])
  })

  it('is reset when the job is seen again', () => {
    const absentSoFar = reconcile([anAttempt()], aSnapshot({ begunAtMs: 1_000 }), OPTIONS).absences
    expect(absentSoFar.has('job/1')).toBe(true)
    const lists = aSnapshot({ begunAtMs: 5_000, pending: [aSeenJob()] })
    const seen = reconcile([anAttempt()], lists, { ...OPTIONS, absentSoFar })
    expect(seen.absences.has('job/1')).toBe(false)
  })
})

describe('properties of reconcile', () => {
  const states = fc.constantFrom<BelievedAttempt['state']>('sending', 'uncertain', 'accepted', 'running', 'finishing')
  const jobids = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const beliefs = fc
    .uniqueArray(fc.record({ jobid: jobids, state: states, sendEndedAtMs: fc.option(fc.nat(20_000)) }), {
      selector: ({ jobid }) => jobid
    })
    .map((list) => list.map((one) => anAttempt({ ...one, key: `${one.jobid}/1` })))
  const lists = fc.uniqueArray(jobids).map((ids) => ids.map((id) => aSeenJob(id)))
  const snapshots = fc.record({ begunAtMs: fc.nat(20_000), pending: lists, running: lists, finished: lists })

  it('every attempt gets at most one verdict, never from a distrusted list, and never backwards', () => {
    fc.assert(
      fc.property(beliefs, snapshots, (believed, snapshot) => {
        const { verdicts } = reconcile(believed, snapshot, OPTIONS)
        expect(new Set(verdicts.map(({ key }) => key)).size).toBe(verdicts.length)
        for (const verdict of verdicts) {
          const attempt = believed.find(({ key }) => key === verdict.key)!
          expect(attempt.state).not.toBe('finishing')
          if (attempt.state === 'running') expect(['finished', 'missing']).toContain(verdict.kind)
        }
      })
    )
  })

  it('one snapshot alone never proves absence', () => {
    fc.assert(
      fc.property(beliefs, snapshots, (believed, snapshot) => {
        const { verdicts } = reconcile(believed, snapshot, { ...OPTIONS, nodePollIntervalMs: 0, takenOverApartMs: 0 })
        expect(verdicts.filter(({ kind }) => kind === 'missing')).toEqual([])
      })
    )
  })

  it('our jobs are never external, and all other live jobs are', () => {
    fc.assert(
      fc.property(beliefs, snapshots, (believed, snapshot) => {
        const ours = new Set(believed.map(({ jobid }) => jobid))
        const { external } = reconcile(believed, snapshot, OPTIONS)
        expect(external.running).toEqual(snapshot.running.filter(({ jobid }) => !ours.has(jobid)))
        expect(external.pending).toEqual(snapshot.pending.filter(({ jobid }) => !ours.has(jobid)))
      })
    )
  })
})
