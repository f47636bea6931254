import { execFileSync } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { readLimit, readRunFiles, runDirectoryName, writeExit } from './run-directory.ts'

const CHILD = { pid: 4711, startTime: 'boot:1', atMs: 1 }
const EXIT = { code: 0, signal: null, atMs: 2 }

async function readBack(child: object, exit: object) {
  const directory = await makeTemporaryDirectory()
  try {
    await writeFile(join(directory.path, 'child.json'), JSON.stringify(child))
    await writeFile(join(directory.path, 'exit.json'), JSON.stringify(exit))
    return await readRunFiles(directory.path)
  } finally {
    await directory.remove()
  }
}

test('the files of a supervisor are read back', async () => {
  expect(await readBack(CHILD, EXIT)).toMatchObject({ child: CHILD, exit: EXIT })
})

test.each([-1, 0, 1, 1.5, 1e300])('the pid %d, which a spider may have written, never gets a signal', async (pid) => {
  expect((await readBack({ ...CHILD, pid }, EXIT)).child).toBeNull()
})

test.each([{ code: 1.5 }, { atMs: 1e300 }, { signal: 'x'.repeat(1000) }])(
  'invalid as the end of a run: %j',
  async (change) => {
    expect((await readBack(CHILD, { ...EXIT, ...change })).exit).toBeNull()
  }
)

test('any jobid gets a directory of its own, with a name that is safe on every system', () => {
  const jobids = ['a-1', '2018-09-05T03_13_50', 'a.b', 'a b:c', 'ü☃', 'CON', '~a', 'x'.repeat(200), '']
  const names = jobids.map(runDirectoryName)
  expect(names.slice(0, 2)).toEqual(jobids.slice(0, 2))
  for (const name of names) expect(name).toMatch(/^~?[A-Za-z0-9_-]{1,128}$/)
  expect(new Set(names).size).toBe(jobids.length)
})

test('a run that an earlier version accepted is read, with defaults for what that version did not store', async () => {
  await using directory = await makeTemporaryDirectory()
  const names = { project: 'shop', version: '1', spider: 'prices', jobid: 'a' }
  const spec = { ...names, settings: {}, args: {}, priority: 0, acceptedAtMs: 1 }
  await writeFile(join(directory.path, 'spec.json'), JSON.stringify(spec))
  expect((await readRunFiles(directory.path)).spec).toEqual({
    ...spec,
    isVersionAsked: true,
    secretNames: [],
    limits: null
  })
})

test('whatever a spider puts in place of a file counts as no evidence, and does not block', async () => {
  await using directory = await makeTemporaryDirectory()
  const path = (name: string) => join(directory.path, name)
  await mkdir(path('exit.json'))
  await symlink('limit.json', path('limit.json'))
  await writeFile(path('started'), JSON.stringify({ pid: 2, startTime: 'x'.repeat(100_000) }))
  if (process.platform !== 'win32') execFileSync('mkfifo', [path('child.json')])
  expect(await readRunFiles(directory.path)).toEqual({ spec: null, supervisor: null, child: null, exit: null })
  expect(await readLimit(directory.path)).toBeNull()
})

test('an end is written in place of what a spider left there, not into it', async () => {
  await using directory = await makeTemporaryDirectory()
  const other = join(directory.path, 'other')
  await writeFile(other, 'untouched')
  await symlink('other', join(directory.path, 'exit.json.part'))
  await mkdir(join(directory.path, 'exit.json', 'deep'), { recursive: true })
  await writeExit(directory.path, EXIT)
  expect((await readRunFiles(directory.path)).exit).toEqual(EXIT)
  expect(await readFile(other, 'utf8')).toBe('untouched')
})

test.each([-1, 9_000_000_000_000_000])('the impossible time %d does not count as the end of a run', async (atMs) => {
  expect((await readBack(CHILD, { ...EXIT, atMs })).exit).toBeNull()
})
