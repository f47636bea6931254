import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { writeFakePython } from '../../../testing/fake-python.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { findPythons, PythonEnvironment } from './python-environment.ts'

async function aRoom() {
  const directory = await makeTemporaryDirectory()
  const resourcesDirectory = join(directory.path, 'resources')
  await mkdir(join(resourcesDirectory, 'python'), { recursive: true })
  await writeFile(join(resourcesDirectory, 'python', 'requirements.txt'), 'Scrapy==2.19.0\n')
  let changes = 0
  const open = (candidates: string[], pythonPath?: string) =>
    new PythonEnvironment({
      candidates,
      pythonPath,
      dataDirectory: join(directory.path, 'data'),
      resourcesDirectory,
      clock: systemClock,
      logger: silentLogger,
      onChange: () => void changes++
    })
  const at = (name: string) => join(directory.path, name)
  return { open, at, changes: () => changes, [Symbol.asyncDispose]: directory.remove }
}

test('the first Python with Scrapy is used', async () => {
  await using t = await aRoom()
  const bare = await writeFakePython(t.at('bare'), '3.13.1', null)
  const full = await writeFakePython(t.at('full'), '3.11.2', '2.19.0')
  const environment = t.open([t.at('absent'), bare, full])
  expect(environment.state().state).toBe('checking')
  const ready = { state: 'ready', path: full, version: '3.11.2', scrapyVersion: '2.19.0', problem: null }
  expect(await environment.settled()).toMatchObject(ready)
  expect(t.changes()).toBe(1)
})

test('a named Python comes first', async () => {
  await using t = await aRoom()
  const full = await writeFakePython(t.at('full'), '3.11.2', '2.19.0')
  const named = await writeFakePython(t.at('named'), '3.12.0', '2.18.0')
  expect(await t.open([full], named).settled()).toMatchObject({ path: named })
})

test.each([
  ['3.11.4', null, undefined, 'Python 3.11 was found but Scrapy is not installed; press Create environment.'],
  ['3.8.10', null, undefined, 'Python 3.8.10 was found but is too old. Install Python 3.10 or newer'],
  ['3.8.10', '2.11.0', undefined, 'Python 3.8.10 was found but is too old. Install Python 3.10 or newer'],
  ['3.12.1', null, 'No module named lxml', 'its Scrapy cannot be imported (No module named lxml)']
])('a missing requirement is explained: %s, %s, %s', async (version, scrapy, failure, words) => {
  await using t = await aRoom()
  const state = await t.open([await writeFakePython(t.at('python'), version, scrapy, { failure })]).settled()
  expect(state).toMatchObject({ state: 'missing', problem: expect.stringContaining(words) })
})

test('nothing in the working directory is used as Python or imported by it', async () => {
  await using t = await aRoom()
  const seen = t.at('seen')
  const nosy = t.at('nosy')
  await writeFile(
    nosy,
    `#!/bin/sh\npwd >> ${seen}\necho '{"path":"${nosy}","version":"3.12.0","scrapyVersion":null}'\n`
  )
  await chmod(nosy, 0o755)
  const environment = t.open([nosy])
  await environment.settled()
  await environment.create(() => {}).catch(() => {})
  const data = await realpath(t.at('data'))
  const directories = new Set((await readFile(seen, 'utf8')).trim().split('\n'))
  expect([...directories]).toEqual([data, join(data, 'environments/main')])
})

test('an environment in the working directory is ignored, because anyone may have put it there', async () => {
  await using t = await aRoom()
  await mkdir(t.at('.venv/bin'), { recursive: true })
  await writeFakePython(t.at('.venv/bin/python'), '3.12.0', '2.18.0')
  const spy = vi.spyOn(process, 'cwd').mockReturnValue(t.at(''))
  onTestFinished(() => spy.mockRestore())
  expect(findPythons('/nowhere/resources')).not.toContainEqual(expect.stringContaining('.venv'))
})

test('a Python can be named by a relative path', async () => {
  await using t = await aRoom()
  const named = await writeFakePython(t.at('named'), '3.12.0', '2.18.0')
  expect(await t.open([], relative(process.cwd(), named)).settled()).toMatchObject({ state: 'ready', path: named })
})

test('without any Python, or with a wrong name, the message says what to do next', async () => {
  await using t = await aRoom()
  expect((await t.open([]).settled()).problem).toMatch(/^No Python was found\. Install Python 3\.10/)
  const wrong = t.at('wrong')
  expect((await t.open([], wrong).settled()).problem).toBe(
    `${wrong} cannot be used as Python (spawn ${wrong} ENOENT). Install Python 3.10 or newer, then press Create environment.`
  )
})

test('an environment is created step by step, and found again by the next engine', async () => {
  await using t = await aRoom()
  const candidates = [await writeFakePython(t.at('bare'), '3.11.4', null)]
  const environment = t.open(candidates)
  await environment.settled()
  const steps: string[] = []
  await environment.create(({ text }) => void steps.push(text))
  expect(steps).toEqual([
    'Looking for a Python to build with',
    'Starting from Python 3.11.4',
    'Collecting Scrapy',
    'Python with Scrapy is ready'
  ])
  expect(environment.state().path).toMatch(t.at('data/environments/main/build-'))
  const ready = { state: 'ready', path: environment.state().path }
  expect(environment.state()).toMatchObject(ready)
  expect(await t.open(candidates).settled()).toMatchObject(ready)
})

test('an environment that fails or is cancelled leaves nothing behind but its log', async () => {
  await using t = await aRoom()
  const pip = 'echo no network >&2; exit 1'
  const failing = t.open([await writeFakePython(t.at('bare'), '3.11.4', null, { pip })])
  await failing.settled()
  await expect(failing.create(() => {})).rejects.toMatchObject({
    code: 'PYTHON_MISSING',
    message: 'The packages could not be installed: no network'
  })
  expect(failing.state()).toMatchObject({ state: 'missing' })
  const left = ['build.log', 'requirements.txt']
  expect((await readdir(t.at('data/environments/main'))).sort()).toEqual(left)

  const slow = t.open([await writeFakePython(t.at('slow'), '3.11.4', null, { pip: 'echo Collecting; sleep 60' })])
  await slow.settled()
  const controller = new AbortController()
  const made = slow.create(
    ({ text }) => text === 'Collecting' && controller.abort(new Error('given up')),
    controller.signal
  )
  await expect(made).rejects.toThrow('given up')
  expect((await readdir(t.at('data/environments/main'))).sort()).toEqual(left)
})

test('a Python in use stays in use while its environment is rebuilt, and if that fails', async () => {
  await using t = await aRoom()
  const pip = `echo Collecting Scrapy; [ ! -e ${t.at('broken')} ]`
  const environment = t.open([await writeFakePython(t.at('bare'), '3.11.4', null, { pip })])
  await environment.settled()
  await environment.create(() => {})
  const first = environment.state()
  const during: unknown[] = []
  await environment.create(({ share }) => void (share !== 1 && during.push(environment.state())))
  expect(during.filter((state) => !isDeepStrictEqual(state, first))).toEqual([])
  const second = environment.state()
  expect(second).toMatchObject({ state: 'ready' })
  expect(second.path).not.toBe(first.path)
  expect(existsSync(first.path!)).toBe(true)

  await writeFile(t.at('broken'), '')
  await expect(environment.create(() => {})).rejects.toThrow('The packages could not be installed')
  expect(environment.state()).toEqual(second)
})

test('a second creation at the same time is refused', async () => {
  await using t = await aRoom()
  const environment = t.open([await writeFakePython(t.at('bare'), '3.11.4', null)])
  await environment.settled()
  const first = environment.create(() => {})
  await expect(environment.create(() => {})).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await first
})
