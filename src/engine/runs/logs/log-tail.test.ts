import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LogChunk } from '../../../shared/contract/index.ts'
import { createFakeClock, settle } from '../../testing/fake-clock.ts'
import { cutBytes, type LogBytes, type WantedBytes } from '../../runtime/byte-window.ts'
import { GrowingLog, LOCAL_POLL_MS, REMOTE_POLL_MS } from './growing-log.ts'
import { tailLog } from './log-tail.ts'

function followed(
  options: { from?: { offset: number } | { tailBytes: number }; isLocal?: boolean; maxLagBytes?: number } = {}
) {
  const clock = createFakeClock()
  const aborting = new AbortController()
  const state = {
    log: null as Buffer | null,
    file: 1,
    live: true,
    failure: null as Error | null,
    reads: 0,
    chunks: [] as LogChunk[],
    end: null as 'ended' | Error | null
  }
  async function read(range: WantedBytes): Promise<LogBytes | null> {
    state.reads += 1
    if (state.failure !== null) throw state.failure
    if (state.log === null) return null
    const sizeBytes = state.log.length
    const offset = range.offset < 0 ? Math.max(0, sizeBytes + range.offset) : Math.min(range.offset, sizeBytes)
    const bytes = new Uint8Array(state.log.subarray(offset, offset + range.limitBytes))
    return { offset, sizeBytes, bytes, fileId: String(state.file) }
  }
  const tail = tailLog({
    log: new GrowingLog({ read, pollMs: options.isLocal === false ? REMOTE_POLL_MS : LOCAL_POLL_MS }, clock),
    mayGrow: () => state.live,
    maxLagBytes: options.maxLagBytes,
    from: options.from ?? { offset: 0 },
    clock,
    signal: aborting.signal
  })
  const start = async () => {
    void (async () => {
      for await (const chunk of tail) state.chunks.push(chunk)
    })().then(
      () => (state.end = 'ended'),
      (error) => (state.end = error)
    )
    await settle()
  }
  return {
    state,
    clock,
    tail,
    start,
    abort: () => aborting.abort(),
    replace(text: string) {
      state.log = Buffer.from(text)
      state.file += 1
    },
    write(text: string | Buffer) {
      state.log = Buffer.concat([state.log ?? Buffer.of(), Buffer.from(text as string)])
    },
    texts: () => state.chunks.map((chunk) => chunk.text)
  }
}

describe('a log that is followed', () => {
  test('is returned as it grows, in whole lines, and ends with the run', async () => {
    const log = followed()
    log.write('one\ntwo\nthr')
    await log.start()
    expect(log.texts()).toEqual(['one\ntwo\n'])
    log.write('ee\n')
    await log.clock.advanceBy(250)
    expect(log.texts()).toEqual(['one\ntwo\n', 'three\n'])
    log.write('fo')
    log.state.live = false
    await log.clock.advanceBy(5000)
    expect(log.state.chunks.at(-1)).toEqual({ offset: 14, nextOffset: 16, sizeBytes: 16, text: 'fo', complete: true })
    expect(log.state.chunks.slice(0, -1).some((chunk) => chunk.complete)).toBe(false)
    expect(log.state.end).toBe('ended')
    expect(log.clock.timerCount()).toBe(0)
  })

  test('that does not exist yet is awaited', async () => {
    const log = followed({ from: { tailBytes: 100 } })
    await log.start()
    await log.clock.advanceBy(60_000)
    expect(log.state.chunks).toEqual([])
    log.write('first\n')
    await log.clock.advanceBy(3000)
    expect(log.texts()).toEqual(['first\n'])
  })

  test('that never existed ends with an empty chunk', async () => {
    const log = followed({ from: { tailBytes: 100 } })
    log.state.live = false
    await log.start()
    expect(log.state.chunks).toEqual([{ offset: 0, nextOffset: 0, sizeBytes: 0, text: '', complete: true }])
    expect(log.state.end).toBe('ended')
  })

  test('whose last line stays unfinished is returned at the next poll', async () => {
    const log = followed()
    log.write('progress 10%')
    await log.start()
    expect(log.texts()).toEqual([])
    await log.clock.advanceBy(500)
    expect(log.texts()).toEqual(['progress 10%'])
  })

  test('that was truncated is returned again from its start', async () => {
    const log = followed()
    log.write('a long first log\n')
    await log.start()
    log.state.log = Buffer.from('new\n')
    await log.clock.advanceBy(250)
    expect(log.state.chunks.at(-1)).toMatchObject({ offset: 0, nextOffset: 4, text: 'new\n' })
  })

  test('that has ended and was pruned ends where it was', async () => {
    const log = followed()
    log.write('text\n')
    await log.start()
    log.state.log = null
    log.state.live = false
    await log.clock.advanceBy(250)
    expect(log.state.chunks.at(-1)).toEqual({ offset: 5, nextOffset: 5, sizeBytes: 5, text: '', complete: true })
  })

  test('comes in chunks of bounded size, one after the other without waiting', async () => {
    const log = followed()
    log.write(`${'x'.repeat(99)}\n`.repeat(10_000))
    await log.start()
    expect(log.texts().join('')).toHaveLength(1_000_000)
    expect(
      log.state.chunks.every((chunk) => chunk.nextOffset - chunk.offset <= 262_144 && chunk.text.endsWith('\n'))
    ).toBe(true)
  })

  test('of one endless line is cut between characters', async () => {
    const log = followed()
    log.write(`x${'€'.repeat(200_000)}`)
    log.state.live = false
    await log.start()
    expect(log.texts().join('')).toBe(`x${'€'.repeat(200_000)}`)
    expect(log.state.chunks.at(-1)?.complete).toBe(true)
  })
})

describe('a log that grows faster than it is read', () => {
  test('continues near its end, and the gap between its chunks shows how much was left out', async () => {
    const log = followed({ from: { tailBytes: 1_000 }, maxLagBytes: 5_000 })
    log.write('first\n')
    await log.start()
    log.write(`${'x'.repeat(99)}\n`.repeat(1_000))
    await log.clock.advanceBy(1_000)
    const [first, second] = log.state.chunks
    expect(first).toMatchObject({ offset: 0, nextOffset: 6 })
    expect(second).toMatchObject({ nextOffset: 100_006, sizeBytes: 100_006 })
    expect(second!.nextOffset - second!.offset).toBe(1_000)
  })

  test('without any loss is returned whole on request', async () => {
    const log = followed({ from: { tailBytes: 1_000 } })
    log.write('first\n')
    await log.start()
    log.write(`${'x'.repeat(99)}\n`.repeat(10_000))
    await log.clock.advanceBy(1_000)
    expect(log.texts().join('')).toHaveLength(1_000_006)
  })
})

test('a log that was replaced by a longer one is returned from its start', async () => {
  const log = followed()
  log.write('old\n')
  await log.start()
  log.replace('a new and longer log\n')
  await log.clock.advanceBy(1_000)
  expect(log.state.chunks.at(-1)).toMatchObject({ offset: 0, text: 'a new and longer log\n' })
})

describe('where it starts', () => {
  const from = async (tailBytes: number, text: string) => {
    const log = followed({ from: { tailBytes } })
    log.write(text)
    log.state.live = false
    await log.start()
    return { text: log.texts().join(''), offset: log.state.chunks[0]?.offset }
  }

  test('a tail begins at the beginning of a line', async () => {
    expect(await from(6, 'one\ntwo\nthree\n')).toEqual({ text: 'three\n', offset: 8 })
    expect(await from(7, 'one\ntwo\nthree\n')).toEqual({ text: 'three\n', offset: 8 })
    expect(await from(10, 'one\ntwo\nthree\n')).toEqual({ text: 'two\nthree\n', offset: 4 })
    expect(await from(14, 'one\ntwo\nthree\n')).toEqual({ text: 'one\ntwo\nthree\n', offset: 0 })
    expect(await from(9999, 'one\ntwo\nthree\n')).toEqual({ text: 'one\ntwo\nthree\n', offset: 0 })
  })

  test('an empty tail waits for new lines', async () => {
    const log = followed({ from: { tailBytes: 0 } })
    log.write('old\n')
    await log.start()
    log.write('new\n')
    await log.clock.advanceBy(3000)
    expect(log.texts()).toEqual(['new\n'])
  })

  test('a tail of megabytes is split into bounded chunks', async () => {
    const text = `${'x'.repeat(99)}\n`.repeat(10_000)
    expect((await from(999_900, text)).text).toHaveLength(999_900)
  })

  test('an offset continues where a dropped connection stopped', async () => {
    const log = followed({ from: { offset: 4 } })
    log.write('one\ntwo\n')
    await log.start()
    expect(log.texts()).toEqual(['two\n'])
  })
})

describe('polling', () => {
  test('happens only while a reader iterates, and a little less often while nothing arrives', async () => {
    const log = followed({ isLocal: false })
    await log.clock.advanceBy(10_000)
    expect(log.state.reads).toBe(0)
    log.write('text\n')
    await log.start()
    expect(log.state.reads).toBe(1)
    await log.clock.advanceBy(249)
    expect(log.state.reads).toBe(1)
    await log.clock.advanceBy(60_000)
    expect(log.state.reads).toBeLessThan(153)
    expect(log.state.reads).toBeGreaterThan(145)
    log.write('more\n')
    await log.clock.advanceBy(400)
    expect(log.texts()).toEqual(['text\n', 'more\n'])
    log.abort()
    await settle()
    expect(log.state.end).toBe('ended')
    expect(log.clock.timerCount()).toBe(0)
  })

  test('a log with many followers is read once', async () => {
    const clock = createFakeClock()
    let text = 'first\n'
    let reads = 0
    const read = async (range: WantedBytes) => {
      reads += 1
      return cutBytes(Buffer.from(text), range)
    }
    const log = new GrowingLog({ read, pollMs: REMOTE_POLL_MS }, clock)
    const aborting = new AbortController()
    const texts = ['', '', '']
    const followers = texts.map(async (_, index) => {
      const options = { log, mayGrow: () => true, from: { offset: 0 }, clock, signal: aborting.signal }
      for await (const chunk of tailLog(options)) texts[index] += chunk.text
    })
    await clock.advanceBy(10_000)
    const readsBefore = reads
    text += 'second\n'
    await clock.advanceBy(10_000)
    expect(texts).toEqual([text, text, text])
    expect(reads - readsBefore).toBeLessThan(10_000 / REMOTE_POLL_MS.quiet + 5)
    aborting.abort()
    await Promise.all(followers)
  })

  test('a file with change notifications is read at once', async () => {
    const clock = createFakeClock()
    let tell = () => {}
    let text = 'first\n'
    const watch = (onChange: () => void) => {
      tell = onChange
      return () => {}
    }
    const source = {
      read: async (range: WantedBytes) => cutBytes(Buffer.from(text), range),
      watch,
      pollMs: LOCAL_POLL_MS
    }
    const log = new GrowingLog(source, clock)
    const aborting = new AbortController()
    const texts: string[] = []
    const following = (async () => {
      const options = { log, mayGrow: () => true, from: { offset: 0 }, clock, signal: aborting.signal }
      for await (const chunk of tailLog(options)) texts.push(chunk.text)
    })()
    await clock.advanceBy(30_000)
    text += 'second\n'
    tell()
    await clock.advanceBy(20)
    expect(texts).toEqual(['first\n', 'second\n'])
    // The log must be readable even if it changes all the time.
    for (let ms = 0; ms < 100; ms += 1) {
      text += 'more\n'
      tell()
      await clock.advanceBy(1)
    }
    expect(texts.length).toBeGreaterThan(5)
    aborting.abort()
    await following
  })

  test('a node that returns is polled again; one that stays away ends the tail with its error', async () => {
    const log = followed({ isLocal: false })
    log.state.failure = new Error('the node did not answer')
    await log.start()
    await log.clock.advanceBy(20_000)
    log.state.failure = null
    log.write('text\n')
    await log.clock.advanceBy(3000)
    expect(log.texts()).toEqual(['text\n'])
    log.state.failure = new Error('the node did not answer again')
    await log.clock.advanceBy(60_000)
    expect(log.state.end).toEqual(new Error('the node did not answer again'))
    expect(log.clock.timerCount()).toBe(0)
  })

  test('a node that does not respond after the run has ended does not delay the end', async () => {
    const log = followed({ isLocal: false })
    log.state.live = false
    log.state.failure = new Error('the node did not answer')
    await log.start()
    expect(log.state.end).toEqual(new Error('the node did not answer'))
  })
})

test('any text in any pieces comes out once, in order and whole', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '€', '😀', '\n'), maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ text, cut: fc.nat(3), waitMs: fc.nat(4000) }), { maxLength: 8 }),
      async (writes) => {
        const log = followed()
        await log.start()
        let kept = Buffer.of()
        for (const write of writes) {
          // A writer can flush in the middle of a character.
          const bytes = Buffer.concat([kept, Buffer.from(write.text)])
          const length = Math.max(0, bytes.length - write.cut)
          log.write(bytes.subarray(0, length))
          kept = bytes.subarray(length)
          await log.clock.advanceBy(write.waitMs)
        }
        log.write(kept)
        log.state.live = false
        await log.clock.advanceBy(3000)
        expect(log.texts().join('')).toBe(writes.map((write) => write.text).join(''))
        let offset = 0
        for (const chunk of log.state.chunks) {
          expect(chunk.offset).toBe(offset)
          offset = chunk.nextOffset
        }
        expect(log.state.end).toBe('ended')
      }
    ),
    { numRuns: 40 }
  )
})

test('a log that appears replaced at every poll is not reread endlessly', async () => {
  const clock = createFakeClock()
  const leaving = new AbortController()
  let reads = 0
  const read = async (): Promise<LogBytes> => {
    if ((reads += 1) > 1_000) throw new Error('it never waits')
    return { offset: 0, sizeBytes: 5, bytes: new Uint8Array(Buffer.from('line\n')), fileId: String(reads) }
  }
  const log = { read, waitForNews: async () => {} }
  const tail = tailLog({ log, mayGrow: () => true, from: { offset: 0 }, clock, signal: leaving.signal })
  await tail.next()
  const next = tail.next()
  await settle()
  expect(reads).toBeLessThan(10)
  leaving.abort()
  await next
})
