import { mkdir, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { readFreeMemory } from './free-memory.ts'

const MIB = 1024 ** 2

async function withGroups(files: Record<string, string>): Promise<ReturnType<typeof readFreeMemory>> {
  const place = await makeTemporaryDirectory()
  try {
    for (const [path, text] of Object.entries({ 'proc/self/cgroup': '0::/a/b\n', ...files })) {
      await mkdir(join(place.path, path, '..'), { recursive: true })
      await writeFile(join(place.path, path), text)
    }
    return await readFreeMemory(place.path)
  } finally {
    await place.remove()
  }
}

test.runIf(process.platform === 'linux')(
  'free memory is that of the tightest limit, and cached files count as free',
  async () => {
    const files = {
      'sys/fs/cgroup/a/b/memory.max': 'max\n',
      'sys/fs/cgroup/a/b/memory.current': `${30 * MIB}\n`,
      'sys/fs/cgroup/a/memory.max': `${64 * MIB}\n`,
      'sys/fs/cgroup/a/memory.current': `${60 * MIB}\n`,
      'sys/fs/cgroup/a/memory.stat': `anon 1\ninactive_file ${20 * MIB}\nactive_file 5\n`
    }
    expect(await withGroups(files)).toEqual({ freeBytes: 24 * MIB, totalBytes: 64 * MIB })
    const over = { ...files, 'sys/fs/cgroup/a/memory.current': `${90 * MIB}\n` }
    expect((await withGroups(over)).freeBytes).toBe(0)
  }
)

test('without a limit, free memory is that of the machine', async () => {
  const { freeBytes, totalBytes } = await withGroups({})
  expect(totalBytes).toBe(totalmem())
  expect(freeBytes).toBeGreaterThan(0)
  expect(freeBytes).toBeLessThanOrEqual(totalBytes)
})
