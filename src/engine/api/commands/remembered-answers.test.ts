import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { ROOMY_QUOTA } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { type KeyedAnswer, RememberedAnswers } from './remembered-answers.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

let temporary: TemporaryStore
let clock: FakeClock
let answers: RememberedAnswers
let done: number
const secretBox = {
  seal: async (text: string) => asSealedText(`sealed ${Buffer.from(text).toString('base64')}`),
  open: async (text: string) => Buffer.from(text.slice(7), 'base64').toString()
}
const request = { scope: 'deck', key: 'k-1', fingerprint: 'POST /jobs', repeatableForMs: 0 }

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  done = 0
  answers = run('run 1')
})
afterEach(() => temporary.remove())

function run(runId: string): RememberedAnswers {
  return new RememberedAnswers({
    store: temporary.store,
    secretBox,
    newRunId: () => runId,
    clock,
    logger: silentLogger
  })
}

async function perform(): Promise<KeyedAnswer> {
  done += 1
  return { text: `secret answer ${done}`, isFinal: true }
}

describe('a request with a key', () => {
  it('is executed once: repeats get the first response for a day, even after a restart', async () => {
    expect(await answers.once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: false })
    expect(await answers.once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: true })
    await clock.advanceBy(24 * 3_600_000 - 1)
    expect(await run('run 2').once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: true })
    await clock.advanceBy(2)
    expect(await run('run 2').once(request, perform)).toEqual({ text: 'secret answer 2', isReplayed: false })
  })

  it('is executed once, even if it arrives a hundred times at once', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => answers.once(request, perform)))
    expect([done, new Set(all.map(({ text }) => text)).size]).toEqual([1, 1])
    expect(all.filter(({ isReplayed }) => !isReplayed)).toHaveLength(1)
  })

  it('uses another key for each credential', async () => {
    await answers.once(request, perform)
    expect(await answers.once({ ...request, scope: 'other' }, perform)).toMatchObject({ isReplayed: false })
  })

  it('is refused if it reuses the key for something else, while the first is executed and afterwards', async () => {
    const other = { ...request, fingerprint: 'POST /nodes' }
    const first = answers.once(request, perform)
    await expect(answers.once(other, perform)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    await first
    await expect(run('run 2').once(other, perform)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    expect(done).toBe(1)
  })

  it('leaves its key free if it fails, also for those that waited for it', async () => {
    const failing = async (): Promise<KeyedAnswer> => {
      done += 1
      if (done === 1) throw new Error('no such spider')
      return { text: 'refused', isFinal: done > 2 }
    }
    const [first, second] = await Promise.allSettled([answers.once(request, failing), answers.once(request, failing)])
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
    expect(await answers.once(request, failing)).toMatchObject({ isReplayed: false })
    expect(done).toBe(3)
  })

  it('is not executed again after a crash, unless it has the same effect twice', async () => {
    void answers.once(request, () => new Promise(() => {}))
    void answers.once({ ...request, key: 'k-2', repeatableForMs: 60_000 }, () => new Promise(() => {}))
    void answers.once({ ...request, key: 'k-3', repeatableForMs: 60_000 }, () => new Promise(() => {}))
    await clock.advanceBy(0)
    const afterwards = run('run 2')
    await expect(afterwards.once(request, perform)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CUT_OFF' })
    await expect(afterwards.once({ ...request, key: 'k-2', repeatableForMs: 60_000 }, perform)).resolves.toMatchObject({
      text: 'secret answer 1'
    })
    await clock.advanceBy(60_000)
    const late = afterwards.once({ ...request, key: 'k-3', repeatableForMs: 60_000 }, perform)
    await expect(late).rejects.toMatchObject({ code: 'IDEMPOTENCY_CUT_OFF' })
    expect(done).toBe(1)
  })

  it('is not executed again if its response could not be stored', async () => {
    const { keepAnswer } = temporary.store
    temporary.store.keepAnswer = async () => Promise.reject(new Error('the disk is full'))
    expect(await answers.once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: false })
    expect(await answers.once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: true })
    temporary.store.keepAnswer = keepAnswer
    expect(await answers.once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: true })
    expect(await run('run 2').once(request, perform)).toEqual({ text: 'secret answer 1', isReplayed: true })
  })

  it('has its response encrypted at rest', async () => {
    await answers.once(request, perform)
    const nowMs = clock.nowMs()
    const stored = await temporary.store.claimAnswer({
      ...request,
      begunBy: 'x',
      nowMs,
      expiresAtMs: nowMs,
      quota: ROOMY_QUOTA
    })
    expect(stored!.answer).toMatch(/^sealed/)
    expect(stored!.answer).not.toContain('secret answer')
  })
})
