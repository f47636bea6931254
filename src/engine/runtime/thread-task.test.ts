import { expect, test } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { runInThread } from './thread-task.ts'

const clock = createFakeClock()
const begin = (code: string) =>
  runInThread<unknown>({
    file: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    input: { text: 'abc' },
    timeoutMs: 10_000,
    memoryMb: 16,
    clock,
    tooLarge: (what) => new ScrapdeckError('BAD_INPUT', `The text ${what}`)
  })
const WITH_PORT = `import { parentPort, workerData } from 'node:worker_threads';`

test('a task gets a copy of its input and returns a copy of its result', async () => {
  const code = `${WITH_PORT} parentPort.postMessage({ value: [workerData.text, Object.keys(process.env).length] })`
  expect(await begin(code)).toEqual(['abc', 0])
})

test('an endless task is stopped after its time limit', async () => {
  const result = begin('for (;;) {}')
  await Promise.all([
    expect(result).rejects.toMatchObject({ code: 'BAD_INPUT', message: 'The text takes longer than 10 s' }),
    clock.advanceBy(10_000)
  ])
})

test('a task that needs too much memory ends alone', async () => {
  const code = 'const all = []; for (;;) all.push(new Array(1000).fill({}))'
  await expect(begin(code)).rejects.toThrow('The text needs more than 16 MB of memory')
})

test('a task that throws, or ends itself, fails', async () => {
  const failing = `${WITH_PORT} parentPort.postMessage({ error: { code: 'FLEET_FILE_INVALID', message: 'No' } })`
  await expect(begin(failing)).rejects.toMatchObject({ code: 'FLEET_FILE_INVALID', message: 'No' })
  await expect(begin(`throw new Error('odd')`)).rejects.toThrow('odd')
  await expect(begin('process.exit()')).rejects.toThrow('ended without an answer')
})
