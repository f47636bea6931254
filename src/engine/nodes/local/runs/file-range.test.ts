import { execFileSync } from 'node:child_process'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { readFileRange } from './file-range.ts'

test('a range can be read from the start, from the end, and past the end', async () => {
  await using directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'a.log')
  await writeFile(path, '0123456789')
  const read = async (offset: number, limitBytes: number) => {
    const { bytes, fileId: _, ...rest } = (await readFileRange(path, { offset, limitBytes }))!
    return { ...rest, text: Buffer.from(bytes).toString() }
  }
  expect(await read(2, 3)).toEqual({ offset: 2, sizeBytes: 10, text: '234' })
  expect(await read(-4, 100)).toEqual({ offset: 6, sizeBytes: 10, text: '6789' })
  expect(await read(-40, 2)).toEqual({ offset: 0, sizeBytes: 10, text: '01' })
  expect(await read(10, 5)).toEqual({ offset: 10, sizeBytes: 10, text: '' })
  expect(await read(50, 5)).toEqual({ offset: 50, sizeBytes: 10, text: '' })
  expect(await readFileRange(join(directory.path, 'b.log'), { offset: 0, limitBytes: 1 })).toBeNull()
})

test.skipIf(process.platform === 'win32')('a spider that replaces its log by a pipe blocks nothing', async () => {
  await using directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'a.log')
  execFileSync('mkfifo', [path])
  // More reads than this process has threads.
  const reads = Array.from({ length: 8 }, () => readFileRange(path, { offset: 0, limitBytes: 10 }))
  expect(await Promise.all(reads)).toEqual(Array(8).fill(null))
})

test.skipIf(process.platform === 'win32')(
  'a spider that replaces its log by a link exposes no other file',
  async () => {
    await using directory = await makeTemporaryDirectory()
    const at = (...names: string[]) => join(directory.path, ...names)
    const log = at('logs/shop/prices/1.log')
    await mkdir(at('logs/shop/prices'), { recursive: true })
    await writeFile(log, 'a log')
    await writeFile(at('1.log'), 'a secret')
    const read = async () => {
      const part = await readFileRange(log, { offset: 0, limitBytes: 10 }, at('logs'))
      return part && Buffer.from(part.bytes).toString()
    }
    expect(await read()).toBe('a log')
    for (const target of [at('1.log'), log]) {
      await rm(log)
      await symlink(target, log)
      expect(await read()).toBeNull()
    }
    await rename(at('logs/shop/prices'), at('before'))
    await symlink(directory.path, at('logs/shop/prices'))
    expect(await read()).toBeNull()
  }
)
