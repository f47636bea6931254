import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { advanceUntil } from '../../testing/until.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { lockHosted } from './hosted-node.ts'

it('only one process at a time hosts a directory; the next one waits a while for it to close', async () => {
  await using directory = await makeTemporaryDirectory()
  const clock = createFakeClock()
  const unlock = await lockHosted(directory.path, clock)
  const refused = lockHosted(directory.path, clock).catch((error: unknown) => error)
  let isOver = false
  void refused.then(() => (isOver = true))
  await advanceUntil(clock, () => isOver)
  expect(await refused).toMatchObject({ code: 'DATA_DIRECTORY_IN_USE' })

  const next = lockHosted(directory.path, clock)
  await unlock()
  let isNext = false
  void next.then(() => (isNext = true))
  await advanceUntil(clock, () => isNext)
  await (await next)()
})

it.each(['', '{"pid":1,"startTime":"of another boot"}'])(
  'a lock of a killed process does not count: %j',
  async (left) => {
    await using directory = await makeTemporaryDirectory()
    await writeFile(join(directory.path, 'hosted.lock'), left)
    await (await lockHosted(directory.path, createFakeClock()))()
  }
)
