import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { readRunFiles, runDirectoryName } from './run-directory.ts'

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

test('what a supervisor wrote is read back', async () => {
  expect(await readBack(CHILD, EXIT)).toMatchObject({ child: CHILD, exit: EXIT })
})

test.each([-1, 0, 1, 1.5, 1e300])('the pid %d, which a spider may have written, is never signalled', async (pid) => {
  expect((await readBack({ ...CHILD, pid }, EXIT)).child).toBeNull()
})

test.each([{ code: 1.5 }, { atMs: 1e300 }, { signal: 'x'.repeat(1000) }])('no end of a run: %j', async (change) => {
  expect((await readBack(CHILD, { ...EXIT, ...change })).exit).toBeNull()
})

test('any jobid has a directory of its own, with a name that is safe on every system', () => {
  const jobids = ['a-1', '2018-09-05T03_13_50', 'a.b', 'a b:c', 'ü☃', 'CON', '~a', 'x'.repeat(200), '']
  const names = jobids.map(runDirectoryName)
  expect(names.slice(0, 2)).toEqual(jobids.slice(0, 2))
  for (const name of names) expect(name).toMatch(/^~?[A-Za-z0-9_-]{1,128}$/)
  expect(new Set(names).size).toBe(jobids.length)
})

test('a run that an engine before this one accepted is read with what it could not know', async () => {
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
