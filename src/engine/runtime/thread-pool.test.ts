import { afterEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'
import { ThreadPool } from './thread-pool.ts'

let pool: ThreadPool
afterEach(() => pool.close())

function open(options: { threads?: number; idleMs?: number } = {}): ThreadPool {
  const file = new URL('./testing/pool-tasks.ts', import.meta.url)
  pool = new ThreadPool({
    file,
    name: 'tasks',
    threads: 2,
    memoryMb: 64,
    idleMs: 10_000,
    clock: systemClock,
    ...options
  })
  return pool
}

test('tasks run in a few threads, and each caller gets its own result', async () => {
  open()
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map((number) => pool.run<{ double: number; thread: number }>({ task: 'double', input: number }))
  )
  expect(answers.map(({ double }) => double)).toEqual([2, 4, 6, 8, 10])
  expect(new Set(answers.map(({ thread }) => thread)).size).toBeLessThanOrEqual(2)
})

test('parts arrive before the result', async () => {
  const parts: number[] = []
  const all = await open().run<string>({ task: 'count', input: 3, onPart: (part: number) => parts.push(part) })
  expect(parts).toEqual([1, 2, 3])
  expect(all).toBe('counted')
})

test('an error of a task reaches its caller with the code of its text, and the thread continues', async () => {
  open({ threads: 1 })
  await expect(pool.run({ task: 'fail', input: 'BAD_INPUT' })).rejects.toMatchObject({
    code: 'BAD_INPUT',
    data: { text: { code: 'runs.disk_full' } }
  })
  await expect(pool.run({ task: 'fail', input: null })).rejects.toThrow('something else')
  expect(await pool.run({ task: 'double', input: 1 })).toMatchObject({ double: 2 })
})

test('an aborted task ends at once for its caller, and its thread is free again even if it never checks for the abort', async () => {
  open({ threads: 1 })
  for (const task of ['waitUntilStopped', 'neverEnds']) {
    const stopping = new AbortController()
    const running = pool.run({ task, input: null, signal: stopping.signal })
    const next = pool.run({ task: 'double', input: 21 })
    stopping.abort(new Error('no longer wanted'))
    await expect(running).rejects.toThrow('no longer wanted')
    expect(await next).toMatchObject({ double: 42 })
  }
})

test('a task that takes too long is stopped', async () => {
  open({ threads: 1 })
  await expect(pool.run({ task: 'neverEnds', input: null, timeoutMs: 50 })).rejects.toThrow('longer than 0.05 s')
  expect(await pool.run({ task: 'double', input: 1 })).toMatchObject({ double: 2 })
})

test('a thread that dies takes only its own task with it', async () => {
  open({ threads: 1 })
  const dying = pool.run({ task: 'die', input: null })
  const next = pool.run({ task: 'double', input: 1 })
  await expect(dying).rejects.toThrow('ended without an answer')
  expect(await next).toMatchObject({ double: 2 })
})

test('closing rejects running and waiting tasks', async () => {
  open({ threads: 1 })
  const answers = Promise.allSettled([
    pool.run({ task: 'neverEnds', input: null }),
    pool.run({ task: 'double', input: 1 })
  ])
  await pool.close()
  expect((await answers).map((answer) => (answer as PromiseRejectedResult).reason)).toMatchObject([
    { code: 'STOPPING' },
    { code: 'STOPPING' }
  ])
  await expect(pool.run({ task: 'double', input: 1 })).rejects.toMatchObject({ code: 'STOPPING' })
})

test.each(['close', 'idle'])('an idle thread exits cleanly and is not terminated: %s', async (why) => {
  open({ idleMs: why === 'idle' ? 20 : 10_000 })
  const ended = new Int32Array(new SharedArrayBuffer(4))
  await pool.run({ task: 'noteEnd', input: ended })
  if (why === 'close') await pool.close()
  else await vi.waitFor(() => expect(ended[0]).toBe(1), 2_000)
  expect(ended[0]).toBe(1)
})
