import { readFileSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { isLong } from '../../scripts/test-length.mjs'
import type { Change, ProjectPython } from '../shared/contract/index.ts'
import { CAN_FORK } from './nodes/local/warm/warm-pool.ts'
import { type EngineWithPython, startEngineWithPython } from './testing/engine-with-python.ts'
import { aSpiderEgg } from './testing/spider-egg.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from './testing/temporary-directory.ts'
import { findTestPython } from './testing/test-python.ts'

const WAIT = { timeout: 200_000, interval: 50 }
const PACKAGE = 'tabulate==0.9.0'
const PINNED = readFileSync(resolve('resources/python/requirements.in'), 'utf8')
const SPIDERS = `
import importlib.metadata, sys
import tabulate, scrapy

class Reads(scrapy.Spider):
    name = "reads"
    async def start(self):
        self.logger.info("tabulate %s in %s", importlib.metadata.version("tabulate"), sys.prefix)
        return
        yield
`

/**
 * Creates a wheel with the name Scrapy that points to the Scrapy of the tests' Python. pip installs it in a tenth of
 * the time that Scrapy and its thirty dependencies take.
 */
async function aWheelOfScrapy(): Promise<string> {
  const script = `
import os, scrapy, sys, zipfile
path = os.path.join(sys.argv[1], f"Scrapy-{scrapy.__version__}-py3-none-any.whl")
about = f"Scrapy-{scrapy.__version__}.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr("tests.pth", os.path.dirname(os.path.dirname(scrapy.__file__)) + "\\n")
    wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\\nName: Scrapy\\nVersion: {scrapy.__version__}\\n")
    wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{about}/RECORD", "")
print(path)`
  return (await promisify(execFile)(findTestPython(), ['-c', script, directory.path])).stdout.trim()
}

let directory: TemporaryDirectory
let own: EngineWithPython
let client: EngineWithPython['client']

async function start(): Promise<void> {
  own = await startEngineWithPython(join(directory.path, 'data'))
  client = own.client
  await vi.waitFor(async () => expect((await client.system.status()).python.state).toBe('ready'), WAIT)
}

beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  await start()
})

afterAll(async () => {
  await own.stop()
  await directory.remove()
})

async function upload(project: string) {
  return client.projects.upload({ file: await aSpiderEgg(SPIDERS), project, version: '1' })
}

const configure = (project: string, python: ProjectPython) =>
  client.projects.configure({ project, settings: { python, limits: null } })

async function* changes(signal: AbortSignal): AsyncGenerator<Change> {
  for await (const batch of await client.events.subscribe({}, { signal })) yield* batch.changes
}

test('a Python that cannot run spiders is refused with the result of the check, and nothing changes', async () => {
  await configure('tools', { kind: 'default' })
  await expect(configure('tools', { kind: 'interpreter', path: '/bin/echo' })).rejects.toMatchObject({
    code: 'BAD_INPUT',
    message:
      '/bin/echo cannot be used as Python (its output is not that of a Python interpreter). Specify Python 3.10 or newer.'
  })
  await expect(configure('tools', { kind: 'requirements', text: ' # none' })).rejects.toMatchObject({
    code: 'BAD_INPUT'
  })
  await expect(configure('../shop', { kind: 'default' })).rejects.toMatchObject({ code: 'BAD_INPUT' })
  const own = await configure('tools', { kind: 'interpreter', path: findTestPython() })
  expect(own.settings.python).toEqual({ kind: 'interpreter', path: findTestPython() })
})

test('a project runs with the packages in its requirements; another one without them cannot import them', {
  timeout: 300_000
}, async () => {
  const watching = new AbortController()
  const kinds = new Set<string>()
  const watched = (async () => {
    for await (const { kind } of changes(watching.signal)) kinds.add(kind)
  })()
  await expect(upload('other')).rejects.toMatchObject({
    code: 'EGG_IMPORT_FAILED',
    message: expect.stringContaining("No module named 'tabulate'")
  })

  // The environment must exist before the first egg. Otherwise, the egg would be refused.
  const text = `${isLong ? PINNED : `Scrapy @ file://${await aWheelOfScrapy()}\nsetuptools<81`}\n${PACKAGE}\n`
  const configured = await configure('shop', { kind: 'requirements', text })
  expect(configured).toMatchObject({ name: 'shop', versions: [], settings: { python: { text } } })
  expect(await upload('shop')).toMatchObject({ version: '1', spiders: null })
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['reads'] })
  await vi.waitFor(async () => {
    const { job } = await client.jobs.get({ id: jobs[0]!.id })
    expect(job.waiting).toMatchObject({
      code: 'python_not_ready',
      text: expect.stringMatching(/^(This computer|Local node) is building the Python environment of shop \(.+\)$/)
    })
  }, WAIT)
  const { environments } = await client.environments.list()
  const made = environments.find(({ kind }) => kind === 'requirements')!
  expect(made).toMatchObject({ state: 'building', projects: ['shop'], hasLog: true })

  let log = ''
  for await (const piece of await client.environments.log({ id: made.id })) log += piece.text
  expect(log).toMatch(
    /^Building an environment with Python 3[^]*Collecting tabulate==0\.9\.0[^]*\nReady: Python 3.* with Scrapy/
  )
  const ended = await vi.waitFor(async () => {
    const detail = await client.jobs.get({ id: jobs[0]!.id })
    expect(detail.job.state).toBe('ended')
    return detail
  }, WAIT)
  expect(ended.job.outcome).toBe('succeeded')
  const jobLog = await client.logs.read({ jobId: jobs[0]!.id, offset: 0, limitBytes: 100_000 })
  expect(jobLog.text).toContain(`tabulate 0.9.0 in ${join(directory.path, 'data/local/environments', made.id)}`)
  await vi.waitFor(async () => {
    expect((await client.projects.get({ project: 'shop' })).versions).toMatchObject([{ spiders: ['reads'] }])
  }, WAIT)
  // Listing the spiders has started a parent process for this environment.
  await vi.waitFor(async () => {
    const { start } = (await client.environments.list()).environments.find(({ id }) => id === made.id)!
    expect(start.mode).toBe(CAN_FORK ? 'warm' : 'cold')
  }, WAIT)

  watching.abort()
  await watched.catch(() => {})
  expect([...kinds]).toEqual(expect.arrayContaining(['environments', 'project', 'python', 'waiting']))
  await own.engine.stop()
  await start()
  const again = (await client.environments.list()).environments.find(({ id }) => id === made.id)
  expect(again).toMatchObject({ state: 'ready', projects: ['shop'], madeAtMs: expect.any(Number) })

  // Without its project, the environment is unused and can be deleted. The settings of the project stay.
  await expect(client.environments.remove({ id: made.id })).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await client.projects.deleteProject({ project: 'shop' })
  expect(await client.environments.remove({ id: made.id })).toEqual({ removed: made.id })
  expect((await client.environments.list()).environments).toMatchObject([{ id: 'main' }])
  expect(await upload('shop')).toMatchObject({ spiders: null })
  expect(await client.projects.get({ project: 'shop' })).toMatchObject({ settings: { python: { text } } })
  expect((await client.environments.list()).environments[1]).toMatchObject({ id: made.id, state: 'building' })
})
