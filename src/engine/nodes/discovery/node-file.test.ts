import { appendFile, mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { readNodeFile, watchNodeFile } from './node-file.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

async function aFile(content: string | Uint8Array) {
  const directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'nodes.txt')
  await write(path, content)
  return { directory: directory.path, path, [Symbol.asyncDispose]: () => directory.remove() }
}

async function write(path: string, content: string | Uint8Array) {
  await writeFile(path, content)
  const then = new Date(Date.now() - 60_000)
  await utimes(path, then, then)
}

test('a finished file is read whole', async () => {
  await using t = await aFile('eu-1\n')
  expect(await readNodeFile(t.path, systemClock)).toBe('eu-1\n')
})

test.skipIf(isCore)('a file that is still being written is not read halfway', async () => {
  await using t = await aFile('eu-1\n')
  await writeFile(t.path, 'eu-1\neu-')
  const reading = readNodeFile(t.path, systemClock)
  await appendFile(t.path, '2\n')
  expect(await reading).toBe('eu-1\neu-2\n')
})

test.each([
  ['that is not there', async (path: string) => rm(path), 'there is no such file'],
  [
    'that is a directory',
    async (path: string) => {
      await rm(path)
      await mkdir(path)
    },
    'it is not a regular file'
  ],
  ['that is no text', async (path: string) => write(path, Buffer.from([0xff, 0xfe, 0x00])), 'it is not UTF-8 text'],
  ['of a giant', async (path: string) => write(path, Buffer.alloc(5_000_000, 32)), 'it is larger than 4 MB']
])('a file %s is refused with a message that names it', async (_what, spoil, words) => {
  await using t = await aFile('eu-1\n')
  await spoil(t.path)
  await expect(readNodeFile(t.path, systemClock)).rejects.toThrow(`${t.path}: ${words}`)
})

test('the watch notices when the file changes, disappears or is replaced', async () => {
  await using t = await aFile('eu-1\n')
  const onChange = vi.fn()
  const watcher = watchNodeFile(t.path, onChange)!
  for (const act of [
    () => appendFile(t.path, 'eu-2\n'),
    () => rm(t.path),
    async () => {
      await writeFile(`${t.path}.new`, 'eu-3\n')
      await rename(`${t.path}.new`, t.path)
    }
  ]) {
    onChange.mockClear()
    await act()
    await vi.waitFor(() => expect(onChange).toHaveBeenCalled())
  }
  watcher.close()
})

test('a missing directory is not watched', () => {
  expect(watchNodeFile('/nowhere/at/all/nodes.txt', () => {})).toBeNull()
})
