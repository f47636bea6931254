import { execFileSync } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { ItemsProcess } from './items-process.ts'
import { anItemsFile, aPage, jsonLines } from './testing/items-files.ts'

const QUICK = { timeoutMs: 20_000, isHeavy: false }

async function start(clock = systemClock) {
  const directory = await makeTemporaryDirectory()
  const reader = new ItemsProcess({ clock, logger: silentLogger, whyNoProcess: null })
  const source = await anItemsFile(directory.path, jsonLines([{ a: 1 }]))
  onTestFinished(async () => {
    reader.stop()
    await directory[Symbol.asyncDispose]()
  })
  return { reader, source }
}

function killChildren(): void {
  const all = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
  for (const line of all.split('\n').filter((one) => one.includes('items-worker')))
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
}

it('starts with the first call and ends a minute after the last one', async () => {
  const clock = createFakeClock()
  const { reader, source } = await start(clock)
  expect(reader.isRunning).toBe(false)
  await reader.call('page', { source, ...aPage() }, QUICK)
  await clock.advanceBy(59_000)
  expect(reader.isRunning).toBe(true)
  await clock.advanceBy(2_000)
  expect(reader.isRunning).toBe(false)
  expect((await reader.call('page', { source, ...aPage() }, QUICK)).rows).toHaveLength(1)
})

it.skipIf(process.platform !== 'linux')('fails its calls when it dies, and is replaced', async () => {
  const { reader, source } = await start()
  await reader.call('page', { source, ...aPage() }, QUICK)
  const lost = reader.call('fieldStatistics', { source, field: 'a' }, QUICK)
  killChildren()
  await expect(lost).rejects.toMatchObject({ code: 'ITEMS_FAILED' })
  expect((await reader.call('fieldStatistics', { source, field: 'a' }, QUICK)).items).toBe(1)
})

it('gives up a call that takes too long', async () => {
  const { reader, source } = await start()
  await expect(
    reader.call('fieldStatistics', { source, field: 'a' }, { ...QUICK, timeoutMs: 1 })
  ).rejects.toMatchObject({
    code: 'ITEMS_FAILED'
  })
})

it('refuses more calls than it could answer', async () => {
  const { reader, source } = await start()
  const calls = Array.from({ length: 60 }, () => reader.call('page', { source, ...aPage() }, QUICK))
  const settled = await Promise.allSettled(calls)
  const refused = settled
    .filter((one) => one.status === 'rejected')
    .map(({ reason }) => (reason as { code: string }).code)
  expect(new Set(refused)).toEqual(new Set(['TOO_MANY_REQUESTS']))
  expect(settled.length - refused.length).toBeGreaterThan(30)
})

it('a call after the engine has stopped is refused', async () => {
  const { reader, source } = await start()
  reader.stop()
  await expect(reader.call('page', { source, ...aPage() }, QUICK)).rejects.toMatchObject({ code: 'STOPPING' })
})
