import { inWords } from '../../../../shared/testing/in-words.ts'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Environment, ProjectPython } from '../../../../shared/contract/index.ts'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { writeFakePython } from '../../../testing/fake-python.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { LocalEnvironments } from './environments.ts'
import { MadeEnvironment } from './made-environment.ts'
import { PythonEnvironment } from './python-environment.ts'

const SHOP = aProjectName('shop')

const WAIT = { timeout: 20_000, interval: 5 }

async function aRoom(over: { pip?: string; scrapy?: string | null } = {}) {
  const directory = await makeTemporaryDirectory()
  const at = (name: string) => join(directory.path, name)
  const pips = at('pips')
  const pip = over.pip ?? 'echo Collecting lxml'
  await writeFakePython(at('main'), '3.12.1', over.scrapy === undefined ? '2.19.0' : over.scrapy, {
    pip: `echo "$@" >> ${pips}; ${pip.replaceAll('AT', directory.path)}`
  })
  const settings = new Map<string, ProjectPython>()
  const state = { inUse: [] as string[] | null }
  const steps = new Set<string | null>()
  const opened: { close(): Promise<void> }[] = []
  const open = async () => {
    const paths = { dataDirectory: at('data'), resourcesDirectory: at('resources') }
    const main = new PythonEnvironment({
      ...paths,
      candidates: [at('main')],
      clock: systemClock,
      logger: silentLogger,
      onChange: () => environments?.refreshMain()
    })
    let environments: Awaited<ReturnType<typeof LocalEnvironments.open>> | null = null
    environments = await LocalEnvironments.open({
      ...paths,
      main,
      projects: () => [...settings.keys()].map(aProjectName),
      settingOf: (project) => settings.get(project) ?? { kind: 'default' },
      pythonsInUse: () => state.inUse,
      clock: systemClock,
      logger: silentLogger,
      onChange() {
        for (const { progress } of environments?.list() ?? []) steps.add(progress?.text ?? null)
      }
    })
    opened.push(environments)
    await main.settled()
    return environments
  }
  const set = (project: string, text: string) => settings.set(project, { kind: 'requirements', text })
  const installs = async () => (await readFile(pips, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  const dispose = async () => {
    await Promise.all(opened.map((one) => one.close()))
    await directory.remove()
  }
  return { at, open, settings, set, state, steps, installs, [Symbol.asyncDispose]: dispose }
}

type Opened = Awaited<ReturnType<Awaited<ReturnType<typeof aRoom>>['open']>>

const made = (environments: Opened) => environments.list().filter(({ kind }) => kind === 'requirements')

async function untilState(environments: Opened, state: string) {
  return vi.waitFor(() => {
    const [one] = made(environments)
    expect(one?.state).toBe(state)
    return one!
  }, WAIT)
}

async function readAll(environments: Opened, id: string): Promise<string> {
  let text = ''
  for await (const piece of environments.log(id)) text += piece.text
  return text
}

test('a project without a Python of its own uses the main one, and waits while there is none', async () => {
  await using t = await aRoom({ scrapy: null })
  const environments = await t.open()
  const missing = { path: null, waiting: 'has no Python with Scrapy yet', problem: expect.stringContaining('3.12') }
  expect(inWords(environments.pythonOf(SHOP))).toEqual(missing)
  await writeFakePython(t.at('main'), '3.12.1', '2.19.0')
  const next = await t.open()
  expect(await next.checkedPythonOf(SHOP)).toEqual({ path: t.at('main') })
  t.settings.set('shop', { kind: 'default' })
  expect(next.list()).toMatchObject([{ id: 'main', state: 'ready', projects: ['shop'], problem: null, hasLog: false }])
})

test('a project can name its Python, also by a relative path; its versions are shown', async () => {
  await using t = await aRoom()
  const own = await writeFakePython(t.at('own'), '3.11.2', '2.11.0')
  const python: ProjectPython = { kind: 'interpreter', path: relative(process.cwd(), own) }
  t.settings.set('shop', python)
  const environments = await t.open()
  await environments.verify(python)
  expect(await environments.checkedPythonOf(SHOP)).toEqual({ path: own })
  expect(environments.list()).toMatchObject([
    { id: 'main', projects: [] },
    { kind: 'interpreter', state: 'ready', path: own, version: '3.11.2', scrapyVersion: '2.11.0', projects: ['shop'] }
  ])
})

test.each([
  ['absent', null, /absent cannot be used as Python \(spawn .*ENOENT\)\. Specify Python 3\.10 or newer\.$/],
  ['old', { version: '3.8.10', failure: undefined }, /old is Python 3\.8\.10\. Specify Python 3\.10 or newer\.$/],
  [
    'bare',
    { version: '3.12.1', failure: undefined },
    /bare is Python 3\.12\.1 without Scrapy\. Install it there \(.* -m pip install Scrapy\)/
  ],
  [
    'broken',
    { version: '3.12.1', failure: 'No module named lxml' },
    /Scrapy cannot be imported \(No module named lxml\)/
  ]
])('a Python that cannot run spiders is refused, and reported if a project uses it: %s', async (name, facts, words) => {
  await using t = await aRoom()
  if (facts) await writeFakePython(t.at(name), facts.version, null, { failure: facts.failure })
  const python: ProjectPython = { kind: 'interpreter', path: t.at(name) }
  const environments = await t.open()
  await expect(environments.verify(python)).rejects.toMatchObject({
    code: 'BAD_INPUT',
    message: expect.stringMatching(words)
  })
  expect(environments.list()).toHaveLength(1)
  t.settings.set('shop', python)
  expect(inWords(await environments.checkedPythonOf(SHOP))).toMatchObject({
    path: null,
    problem: expect.stringMatching(words)
  })
  expect(environments.list()[1]).toMatchObject({
    state: 'failed',
    problem: expect.stringMatching(words),
    problemCode: expect.stringMatching(/^python\./)
  })
  if (!facts) return
  await writeFakePython(t.at(name), '3.12.1', '2.19.0')
  await environments.rebuild(environments.list()[1]!.id)
  expect(await environments.checkedPythonOf(SHOP)).toEqual({ path: t.at(name) })
})

test('a program that is not Python is reported as such', async () => {
  await using t = await aRoom()
  const environments = await t.open()
  const verify = (path: string) => environments.verify({ kind: 'interpreter', path })
  await expect(verify('/bin/echo')).rejects.toThrow('its output is not that of a Python interpreter')
  await expect(verify('/bin/false')).rejects.toThrow('it failed without an error message')
  await expect(verify('a\0b')).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await expect(environments.verify({ kind: 'requirements', text: '# nothing\n\n' })).rejects.toThrow('name no package')
})

test('requirements make one environment for all projects with the same content, found again by the next engine', async () => {
  await using t = await aRoom()
  t.set('shop', 'lxml==5.0\nScrapy==2.18.0')
  t.set('news', 'lxml==5.0   # the newest that works\r\n\r\nScrapy==2.18.0\r\n')
  t.set('else', 'requests')
  const environments = await t.open()
  await vi.waitFor(() => expect(made(environments).map(({ state }) => state)).toEqual(['ready', 'ready']), WAIT)
  const one = made(environments).find(({ projects }) => projects.includes(SHOP))!
  expect(one).toMatchObject({
    projects: ['shop', 'news'],
    version: '3.12.1',
    problem: null,
    progress: null,
    hasLog: true
  })
  expect(environments.pythonOf(SHOP)).toEqual({ path: one.path })
  expect(environments.pythonOf(aProjectName('news'))).toEqual({ path: one.path })
  expect(environments.pythonOf(aProjectName('else'))).not.toEqual({ path: one.path })
  const installs = (await t.installs()).map((line) => line.replace(/.*requirements\.txt ?/, ''))
  expect(installs.sort()).toEqual(['Scrapy setuptools<81', 'setuptools<81'])
  expect((await t.installs())[0]).toContain('--no-input --disable-pip-version-check')
  expect(await readAll(environments, one.id)).toMatch(
    /^Building an environment with Python 3\.12\.1 \(.*\)\nCollecting lxml\nReady: Python 3\.12\.1 with Scrapy 2\.19\.0\n$/
  )
  await environments.close()
  const next = await t.open()
  expect(next.pythonOf(SHOP)).toEqual({ path: one.path })
  expect(await t.installs()).toHaveLength(2)
})

test('if every package needs a hash, the packages of the runner are installed separately', async () => {
  await using t = await aRoom()
  t.set('shop', 'Scrapy==2.18.0 --hash=sha256:00')
  const environments = await t.open()
  await untilState(environments, 'ready')
  const installs = (await t.installs()).map((line) => line.replace(/.*--no-color /, ''))
  expect(installs).toEqual([expect.stringMatching(/^-r .*requirements\.txt$/), 'setuptools<81'])
})

test('while an environment is created, its step is shown, its log can be followed, and other projects run', async () => {
  await using t = await aRoom({
    pip: 'echo Collecting lxml; until [ -e AT/go ]; do sleep 0.01; done; printf "the end"'
  })
  t.set('shop', 'lxml')
  const environments = await t.open()
  const id = await vi.waitFor(() => {
    const [one] = made(environments)
    expect(one).toMatchObject({ state: 'building', path: null, progress: { text: 'Collecting lxml' } })
    return one!.id
  }, WAIT)
  const words = 'is building the Python environment of shop (Collecting lxml)'
  expect(inWords(environments.pythonOf(SHOP))).toMatchObject({ path: null, waiting: words })
  expect(environments.pythonOf(aProjectName('news'))).toEqual({ path: t.at('main') })
  await vi.waitFor(() => expect(t.steps).toContain('Collecting lxml'), WAIT)
  let text = ''
  for await (const piece of environments.log(id)) {
    text += piece.text
    if (text.includes('Collecting lxml')) await writeFile(t.at('go'), '')
  }
  expect(text).toMatch(/Collecting lxml\nthe end\nReady: Python/)
  await untilState(environments, 'ready')
})

test('a reader that stops following a growing log is released', async () => {
  await using t = await aRoom({ pip: 'until [ -e AT/go ]; do sleep 0.01; done' })
  t.set('shop', 'lxml')
  const environments = await t.open()
  const { id } = await vi.waitFor(() => {
    const [one] = made(environments)
    expect(one?.hasLog).toBe(true)
    return one!
  }, WAIT)
  const reading = new AbortController()
  for await (const piece of environments.log(id, reading.signal)) {
    expect(piece.text).toContain('Building')
    setImmediate(() => reading.abort())
  }
})

test('an environment that fails says why and what to do, keeps its log without credentials, and is created on the next request', async () => {
  const index = 'https://me:pass%2Fword@index.example/simple'
  await using t = await aRoom({
    pip: `echo Looking in indexes: ${index}; [ -e AT/mended ] && exit 0; echo ERROR: nothing at ${index} >&2; echo hint: see above >&2; exit 1`
  })
  t.set('shop', `--index-url ${index}\nnosuch`)
  const environments = await t.open()
  const { id, problem } = await untilState(environments, 'failed')
  expect(problem).toBe(
    'The packages could not be installed: nothing at https://***@index.example/simple. Fix the requirements, or try again.'
  )
  expect(inWords(environments.pythonOf(SHOP))).toMatchObject({
    path: null,
    waiting: expect.stringMatching(/^could not build the Python environment of shop \(The packages could not/)
  })
  const log = await readAll(environments, id)
  expect(log).toContain('hint: see above')
  expect(log + (await readFile(t.at(`data/environments/${id}/build.log`), 'utf8'))).not.toMatch(/me:|pass/)
  expect(await readdir(t.at(`data/environments/${id}`))).toEqual(['build.log', 'requirements.txt'])
  expect(await t.installs()).toHaveLength(1)

  await writeFile(t.at('mended'), '')
  expect(await environments.rebuild(id)).toMatchObject({ id, state: 'building' })
  await untilState(environments, 'ready')
})

test('a missing venv module is reported with how to install it', async () => {
  await using t = await aRoom()
  const text = 'The virtual environment was not created successfully because ensurepip is not\\navailable.'
  await writeFile(
    t.at('main'),
    `#!/bin/sh\nif [ "$2" = venv ]; then printf '${text}'; exit 1; fi\necho '${JSON.stringify({ path: t.at('main'), version: '3.12.1', scrapyVersion: null })}'\n`
  )
  t.set('shop', 'lxml')
  const environments = await t.open()
  expect((await untilState(environments, 'failed')).problem).toContain('apt install python3-venv')
})

test('an environment is rebuilt beside the one in use, which stays in use if that fails', async () => {
  await using t = await aRoom({
    pip: '[ ! -e AT/wait ] || until [ -e AT/go ]; do sleep 0.01; done; [ ! -e AT/broken ]'
  })
  t.set('shop', 'lxml')
  const environments = await t.open()
  const { id, path } = await untilState(environments, 'ready')
  await writeFile(t.at('wait'), '')
  await environments.rebuild(id)
  await vi.waitFor(async () => expect(await t.installs()).toHaveLength(2), WAIT)
  expect(made(environments)).toMatchObject([{ state: 'building', path }])
  expect(environments.pythonOf(SHOP)).toEqual({ path })
  await writeFile(t.at('go'), '')
  const again = await untilState(environments, 'ready')
  expect(again.path).not.toBe(path)
  expect(existsSync(path!)).toBe(true)

  await writeFile(t.at('broken'), '')
  await environments.rebuild(id)
  expect(await untilState(environments, 'failed')).toMatchObject({
    path: again.path,
    problem: expect.stringContaining('still in use')
  })
  expect(environments.pythonOf(SHOP)).toEqual({ path: again.path })
})

test('leftovers are deleted once no run can be starting with them, and never while they are in use', async () => {
  await using directory = await makeTemporaryDirectory()
  const clock = createFakeClock()
  const base = { path: await writeFakePython(join(directory.path, 'main'), '3.12.1', null), version: '3.12.1' }
  const here = join(directory.path, 'one')
  await mkdir(join(here, 'build-killed'), { recursive: true })
  const open = () => new MadeEnvironment({ directory: here, clock, onChange: () => {} })
  const one = open()
  await one.build(base, 'lxml')
  const first = dirname(dirname(one.current()!.path))
  await one.build(base, 'lxml')
  const second = dirname(dirname(one.current()!.path))
  const builds = async () =>
    (await readdir(here)).filter((name) => name.startsWith('build-')).map((name) => join(here, name))

  await one.tidy(() => false)
  expect(await builds()).toHaveLength(3)
  await clock.advanceBy(120_000)
  await one.tidy((build) => build === first)
  expect((await builds()).sort()).toEqual([first, second].sort())
  await one.tidy(() => false)
  expect(await builds()).toEqual([second])
  expect(open().current()).toEqual(one.current())
  // As if the Python from which the environment was built had been uninstalled.
  await rm(one.current()!.path)
  expect(open().current()).toBeNull()
})

test('an environment that the engine left unfinished, even by kill -9, is started again by the next one', async () => {
  await using t = await aRoom({ pip: 'echo $$ > AT/pid; until [ -e AT/go ]; do sleep 0.01; done' })
  t.set('shop', 'lxml')
  const environments = await t.open()
  await vi.waitFor(() => expect(existsSync(t.at('pid'))).toBe(true), WAIT)
  const { id } = made(environments)[0]!
  await environments.close()
  expect(await readdir(t.at(`data/environments/${id}`))).toEqual(['build.log', 'requirements.txt'])
  const pid = Number(await readFile(t.at('pid'), 'utf8'))
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), WAIT)

  await mkdir(t.at(`data/environments/${id}/build-killed/bin`), { recursive: true })
  await writeFile(t.at('go'), '')
  const next = await t.open()
  const { path } = await untilState(next, 'ready')
  expect(path).not.toContain('killed')
})

test('two environments are created at a time; one that waits can be deleted', async () => {
  await using t = await aRoom({ pip: 'until [ -e AT/go ]; do sleep 0.01; done' })
  for (const name of ['one', 'two', 'three', 'four']) t.set(name, name)
  const environments = await t.open()
  const states = () => made(environments).map(({ state }) => state)
  await vi.waitFor(async () => expect(await t.installs()).toHaveLength(2), WAIT)
  expect(states()).toEqual(['building', 'building', 'building', 'building'])
  const waiting = made(environments).filter(({ progress }) => progress?.text === 'waiting for other builds')
  expect(waiting).toHaveLength(2)
  const [{ id, projects }] = waiting as [Environment, Environment]
  expect(inWords(environments.pythonOf(projects[0]!))).toMatchObject({
    waiting: `is building the Python environment of ${projects[0]} (waiting for other builds)`
  })

  t.settings.set(projects[0]!, { kind: 'default' })
  await environments.remove(id)
  expect(states()).toHaveLength(3)
  await writeFile(t.at('go'), '')
  await vi.waitFor(() => expect(states()).toEqual(['ready', 'ready', 'ready']), WAIT)
  expect(await t.installs()).toHaveLength(3)
})

test('an unused environment is listed and can be deleted; one that a project or spider uses cannot', async () => {
  await using t = await aRoom()
  t.set('shop', 'lxml')
  const environments = await t.open()
  const { id, path } = await untilState(environments, 'ready')
  await expect(environments.remove(id)).rejects.toThrow('shop. Choose another Python there first.')
  await expect(environments.remove('main')).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await expect(environments.remove('0123456789ab')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(environments.rebuild('../../..')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(() => environments.log('main')).toThrow('has no log')
  await expect(environments.rebuild('main')).rejects.toThrow('which Scrapdeck did not build')
  t.settings.set('shop', { kind: 'default' })
  expect(made(environments)).toMatchObject([{ id, projects: [] }])
  for (const inUse of [[path!], null]) {
    t.state.inUse = inUse
    await expect(environments.remove(id)).rejects.toThrow('Spiders are still running')
  }
  t.state.inUse = [t.at('main')]
  await environments.remove(id)
  expect(made(environments)).toEqual([])
  expect(await readdir(t.at('data/environments'))).toEqual([])
})
