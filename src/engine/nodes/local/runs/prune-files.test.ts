import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { Pruner } from './prune-files.ts'

async function openRoom(keep: number, needed: string[], options: { notBeforeMs?: number } = {}) {
  const temporary = await makeTemporaryDirectory()
  const folder = join(temporary.path, 'logs', 'shop', 'prices')
  await mkdir(join(folder, 'a-folder'), { recursive: true })
  const write = async (names: string[]) => {
    for (const [index, name] of names.entries()) {
      await writeFile(join(folder, name), '')
      await utimes(join(folder, name), 1_000_000 + index, 1_000_000 + index)
    }
  }
  const directories = [join(temporary.path, 'logs'), join(temporary.path, 'items')]
  const isNeeded = (jobid: string) => needed.includes(jobid)
  const pruner = new Pruner({ directories, keep, isNeeded, logger: silentLogger, ...options })
  return {
    write,
    async prune() {
      pruner.prune(aProjectName('shop'), 'prices')
      await pruner.settled()
      return (await readdir(folder)).sort()
    },
    [Symbol.asyncDispose]: temporary[Symbol.asyncDispose]
  }
}

test('the newest files stay, whatever their names; folders and other spiders are not touched', async () => {
  await using t = await openRoom(2, [])
  await t.write(['1.log', 'b.txt', '2.log', '3.log'])
  expect(await t.prune()).toEqual(['2.log', '3.log', 'a-folder'])
})

test('files of live jobs stay however old they are, and do not count', async () => {
  await using t = await openRoom(1, ['old', 'with.dots'])
  await t.write(['old.log', 'old.json', 'with.dots.log', 'older.log', 'newest.log'])
  expect(await t.prune()).toEqual(['a-folder', 'newest.log', 'old.json', 'old.log', 'with.dots.log'])
})

test('no file is deleted up to the configured number', async () => {
  await using t = await openRoom(2, [])
  await t.write(['1.log', '2.log'])
  expect(await t.prune()).toEqual(['1.log', '2.log', 'a-folder'])
})

test('files from before a given time are neither deleted nor counted', async () => {
  await using t = await openRoom(1, [], { notBeforeMs: 1_000_002_000 })
  await t.write(['0.log', '1.log', '2.log', '3.log'])
  expect(await t.prune()).toEqual(['0.log', '1.log', '3.log', 'a-folder'])
})
