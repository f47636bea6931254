import { execFileSync } from 'node:child_process'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { makeTestDirectory } from '../../testing/test-directory.ts'
import { findTestPython } from '../../testing/test-python.ts'

test('the HTTP cache of a project keeps its newest pages up to a size, and no other file is deleted', async () => {
  const cache = join(makeTestDirectory(), 'httpcache')
  for (const [name, atSeconds] of [
    ['new', 3_000],
    ['old', 1_000],
    ['middle', 2_000]
  ] as const) {
    const page = join(cache, 'prices', name.slice(0, 2), name)
    await mkdir(page, { recursive: true })
    for (const file of ['pickled_meta', 'response_body']) {
      await writeFile(join(page, file), 'x'.repeat(500))
      await utimes(join(page, file), atSeconds, atSeconds)
    }
  }
  await writeFile(join(cache, 'own'), 'x'.repeat(5_000))
  const left = async () =>
    (await readdir(join(cache, 'prices'), { recursive: true })).filter((name) => name.endsWith('meta'))
  const forget = (mostBytes: number) =>
    execFileSync(
      findTestPython(),
      ['-B', '-c', 'import sys, crawl; crawl.forget_pages(sys.argv[1], int(sys.argv[2]))', cache, String(mostBytes)],
      {
        cwd: resolve('resources/python')
      }
    )
  forget(3_000)
  expect(await left()).toHaveLength(3)
  forget(2_500)
  expect((await left()).sort()).toEqual(['mi/middle/pickled_meta', 'ne/new/pickled_meta'])
  forget(999)
  expect(await left()).toEqual([])
  expect(await readdir(cache)).toContain('own')
})
