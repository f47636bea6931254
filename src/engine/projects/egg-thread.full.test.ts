import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import yazl from 'yazl'
import { expect, test } from 'vitest'
import { systemClock } from '../runtime/clock.ts'
import { anArchive, anEgg } from '../testing/archives.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { createEggThreads } from './egg-thread.ts'
import { openZipArchive } from './zip-archive.ts'

const PROJECT = [
  { name: 'scrapy.cfg', content: '[settings]\ndefault = shop.settings\n' },
  { name: 'shop/settings.py', content: '' }
]

async function open(archive: Uint8Array, limits?: { memoryMb: number; timeoutMs: number }) {
  const folder = await makeTemporaryDirectory()
  const path = join(folder.path, 'upload')
  const built = join(folder.path, 'built')
  await writeFile(path, archive)
  const opening = createEggThreads(systemClock, limits)(path, {}, built)
  opening.catch(() => {})
  return { ...folder, opening, upload: path, built }
}

test('an uploaded egg stays unchanged', async () => {
  await using t = await open(await anEgg())
  expect(await t.opening).toMatchObject({ path: t.upload, facts: { name: 'shop', settingsModule: 'shop.settings' } })
})

test('the zip of a project becomes an egg beside it, with the files of the project', async () => {
  await using t = await open(await anArchive(PROJECT))
  const { path, sizeBytes, facts } = await t.opening
  expect([path, sizeBytes, facts.name]).toEqual([t.built, (await readFile(t.built)).length, 'shop'])
  expect((await openZipArchive(await readFile(t.built))).names).toContain('shop/settings.py')
})

test('errors arrive with their codes, and nothing is left', async () => {
  await using t = await open(Buffer.from('no zip'))
  await expect(t.opening).rejects.toMatchObject({ code: 'EGG_NOT_A_ZIP' })
  expect(await readdir(t.path)).toEqual(['upload'])
})

test('an archive that takes too long is given up', async () => {
  await using t = await open(await anArchive(PROJECT), { memoryMb: 100, timeoutMs: 1 })
  await expect(t.opening).rejects.toMatchObject({ code: 'EGG_UNSAFE', message: expect.stringContaining('longer than') })
})

test('an archive that needs too much memory ends its thread, not the process', async () => {
  const archive = new yazl.ZipFile()
  for (const { name, content } of PROJECT) archive.addBuffer(Buffer.from(content), name)
  for (let index = 0; index < 20_000; index++) {
    archive.addBuffer(Buffer.alloc(0), `shop/${'x'.repeat(200)}${index}`, { compress: false })
  }
  archive.end()
  await using t = await open(await buffer(archive.outputStream as Readable), { memoryMb: 8, timeoutMs: 20_000 })
  await expect(t.opening).rejects.toMatchObject({ code: 'EGG_UNSAFE', message: expect.stringContaining('memory') })
})
