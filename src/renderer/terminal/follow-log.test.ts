import { describe, expect, it } from 'vitest'
import type { LogChunk } from '../../shared/contract/index.ts'
import { aJobId, anAttemptNumber } from '../../shared/testing/ids.ts'
import { type FollowState, followLog, LIMIT_BYTES, type LogsClient } from './follow-log.ts'

const chunk = (offset: number, text: string, complete = false): LogChunk => ({
  offset,
  nextOffset: offset + text.length,
  sizeBytes: offset + text.length,
  text,
  complete
})

type Input = Parameters<LogsClient['tail']>[0]

/** A client that plays one script per `tail` call; 'break' throws in the middle of the stream. */
function clientPlaying(...scripts: Array<Array<LogChunk | 'break'>>) {
  const calls: Input[] = []
  const tail = async (input: Input) => {
    calls.push(input)
    const script = scripts.shift()
    if (script === undefined) throw new Error('no answer')
    return (async function* () {
      for (const step of script) {
        if (step === 'break') throw new Error('connection lost')
        yield step
      }
    })()
  }
  return { calls, logs: { tail } as unknown as Pick<LogsClient, 'tail'> }
}

const jobId = '0'.repeat(32)

describe('followLog', () => {
  it('starts near the end of the log and stops when the run has ended', async () => {
    const { calls, logs } = clientPlaying([chunk(10, 'a\n'), chunk(12, 'b\n', true)])
    const texts: string[] = []
    const states: FollowState[] = []
    await followLog({
      logs,
      jobId: aJobId(jobId),
      tailBytes: 64,
      onChunk: ({ text }) => void texts.push(text),
      onState: (state) => states.push(state),
      signal: new AbortController().signal
    })
    expect(texts).toEqual(['a\n', 'b\n'])
    expect(calls).toEqual([{ jobId, attemptNumber: undefined, tailBytes: 64, limitBytes: LIMIT_BYTES }])
    expect(states.map(({ kind }) => kind)).toEqual(['live', 'complete'])
  })

  it('requests the log again at once if a stream ended at the limit, without showing that', async () => {
    const full = { ...chunk(0, 'a\n'), nextOffset: LIMIT_BYTES }
    const { calls, logs } = clientPlaying([full], [chunk(LIMIT_BYTES, 'b\n', true)])
    const kinds: string[] = []
    await followLog({
      logs,
      jobId: aJobId(jobId),
      tailBytes: 64,
      onChunk: () => {},
      onState: ({ kind }) => void kinds.push(kind),
      waitMs: () => expect.fail('nothing failed'),
      signal: new AbortController().signal
    })
    expect(calls[1]).toMatchObject({ offset: LIMIT_BYTES })
    expect(kinds).toEqual(['live', 'complete'])
  })

  it('continues at the byte where the connection broke', async () => {
    const { calls, logs } = clientPlaying([chunk(0, 'a\n'), 'break'], [chunk(2, 'b\n')], [chunk(4, 'c\n', true)])
    const texts: string[] = []
    const kinds: string[] = []
    await followLog({
      logs,
      jobId: aJobId(jobId),
      attemptNumber: anAttemptNumber(2),
      tailBytes: 64,
      onChunk: ({ text }) => void texts.push(text),
      onState: ({ kind }) => kinds.push(kind),
      signal: new AbortController().signal,
      waitMs: () => 0
    })
    expect(texts).toEqual(['a\n', 'b\n', 'c\n'])
    expect(calls.slice(1)).toEqual([
      { jobId, attemptNumber: 2, offset: 2, tailBytes: 64, limitBytes: LIMIT_BYTES },
      { jobId, attemptNumber: 2, offset: 4, tailBytes: 64, limitBytes: LIMIT_BYTES }
    ])
    expect(kinds).toEqual(['live', 'interrupted', 'live', 'live', 'complete'])
  })

  it('does not pull the next chunk before the last one was consumed', async () => {
    let pulled = 0
    const logs = {
      tail: async () =>
        (async function* () {
          for (let at = 0; at < 3; at += 1) {
            pulled += 1
            yield chunk(at, 'x', at === 2)
          }
        })()
    } as unknown as Pick<LogsClient, 'tail'>
    const gates: Array<() => void> = []
    const following = followLog({
      logs,
      jobId: aJobId(jobId),
      tailBytes: 1,
      onChunk: () => new Promise<void>((resolve) => gates.push(resolve)),
      onState: () => {},
      signal: new AbortController().signal
    })
    for (let expected = 1; expected <= 3; expected += 1) {
      while (gates.length < expected) await new Promise((resolve) => setTimeout(resolve, 0))
      expect(pulled).toBe(expected)
      gates[expected - 1]?.()
    }
    await following
  })

  it('gives up when no log is available', async () => {
    const logs = {
      tail: () => Promise.reject(Object.assign(new Error('gone'), { code: 'LOG_NOT_FOUND' }))
    } as unknown as Pick<LogsClient, 'tail'>
    const kinds: string[] = []
    await followLog({
      logs,
      jobId: aJobId(jobId),
      tailBytes: 1,
      onChunk: () => {},
      onState: ({ kind }) => kinds.push(kind),
      signal: new AbortController().signal
    })
    expect(kinds).toEqual(['unavailable'])
  })

  it('stops immediately when told to, even while waiting to retry', async () => {
    const { logs } = clientPlaying()
    const abort = new AbortController()
    const following = followLog({
      logs,
      jobId: aJobId(jobId),
      tailBytes: 1,
      onChunk: () => {},
      onState: () => abort.abort(),
      signal: abort.signal,
      waitMs: () => 60_000
    })
    await following
    expect(abort.signal.aborted).toBe(true)
  })
})
