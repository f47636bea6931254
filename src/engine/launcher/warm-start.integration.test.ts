import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '../runtime/clock.ts'
import { silentLogger } from '../runtime/logger.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../testing/temporary-directory.ts'
import { findTestPython } from '../testing/test-python.ts'
import type { RunSource } from './launch-plan.ts'
import { acceptRun, type RunExit, type RunSpec, readRunFiles } from './run-directory.ts'
import { startRun } from './start-run.ts'
import { openWarmPool, type WarmPool } from './warm-pool.ts'

const resourcesDirectory = resolve('resources')
const project = resolve('src/engine/launcher/testing/reporting-project')
const python = findTestPython()
const WAIT = { timeout: 60_000, interval: 20 }
vi.setConfig({ testTimeout: 120_000 })

let place: TemporaryDirectory
let egg: string
let pool: WarmPool

beforeAll(async () => {
  place = await makeTemporaryDirectory()
  const source = join(place.path, 'source')
  await cp(project, source, { recursive: true })
  await promisify(execFile)(python, ['setup.py', '-q', 'bdist_egg'], { cwd: source })
  const [name] = await readdir(join(source, 'dist'))
  egg = join(source, 'dist', name!)
  // The parts of the namespaces that are not in the egg.
  const outside = join(place.path, 'outside')
  for (const [folder, words] of Object.entries({ oldspace: 'old, outside', sharedspace: 'shared, outside' })) {
    await mkdir(join(outside, folder), { recursive: true })
    await cp(join(project, folder, '__init__.py'), join(outside, folder, '__init__.py'))
    await writeFile(join(outside, folder, 'outside.py'), `WORDS = "${words}"\n`)
  }
  vi.stubEnv('PYTHONPATH', outside)
  vi.stubEnv('TZ', 'Asia/Tokyo')
  pool = openWarmPool({
    dataDirectory: place.path,
    resourcesDirectory,
    clock: systemClock,
    logger: silentLogger,
    onChange() {}
  })
  pool.prepare(python)
  await vi.waitFor(() => expect(pool.mode(python).mode).toBe('warm'), WAIT)
}, 120_000)

afterAll(async () => {
  await pool.close()
  await place.remove()
  vi.unstubAllEnvs()
})

let runs = 0

/** Runs a spider to its end, warm or cold, always as the same job in a place of its own. */
async function run(way: WarmPool | null, over: Partial<RunSpec> = {}, source: RunSource = { egg }) {
  const home = join(place.path, `run-${++runs}`)
  const runsDirectory = join(home, 'runs')
  await mkdir(runsDirectory, { recursive: true })
  const report = join(home, 'report.json')
  const spec: RunSpec = {
    ...{ project: 'shop', version: '1', isVersionAsked: true, spider: 'report', jobid: 'job', settings: {} },
    ...{ args: { report }, secretNames: [], limits: null, priority: 0, acceptedAtMs: 0, ...over }
  }
  await acceptRun(runsDirectory, spec)
  const runDirectory = join(runsDirectory, spec.jobid)
  const directories = {
    logsDirectory: join(home, 'logs'),
    itemsDirectory: join(home, 'items'),
    jobsDirectory: null,
    workDirectory: join(home, 'work')
  }
  const { promise: ended, resolve: end } = Promise.withResolvers<RunExit | null>()
  const events = { child() {}, exit: end, gone: () => end(null) }
  const places = { runDirectory, source, directories, resourcesDirectory }
  await startRun({ ...places, spec, python, pool: way, events, mayStart: () => way === null })
  const exit = await ended
  const read = (path: string) => readFile(path, 'utf8').catch(() => null)
  const log = await read(join(directories.logsDirectory, 'shop', spec.spider, 'job.log'))
  const output = await read(join(runDirectory, 'output.txt'))
  const text = await read(report)
  const files = { atexit: await read(`${report}.atexit`), unclosed: await read(`${report}.unclosed`) }
  const found = text === null ? null : JSON.parse(text.replaceAll(home, 'HOME').replaceAll(/0x[0-9a-f]+/g, '0x'))
  return { exit, log: log?.replaceAll(home, 'HOME') ?? null, output, report: found, files, runDirectory }
}

/** What changes from run to run. */
function steady(text: string | null): string {
  return (text ?? '')
    .replace(/^\d{4}-.{17}/gm, '')
    .replace(/Telnet Password: \w+|port \d+ \(job .*\)|on 127.0.0.1:\d+/g, '')
    .replace(/^ ?'(elapsed|memusage|start_time|finish_time|log_count)[^]*?,\n/gm, '')
    .replace(/\d+\.\d+|datetime\(.*\)/g, '')
}

test.each([
  ['the default reactor', {}],
  ['asyncio', { TWISTED_REACTOR: 'twisted.internet.asyncioreactor.AsyncioSelectorReactor' }],
  ['epoll', { TWISTED_REACTOR: 'twisted.internet.epollreactor.EPollReactor' }]
])('a spider cannot tell a warm start from a cold one: %s', async (_, settings: Record<string, string>) => {
  const cold = await run(null, { settings })
  const warm = await run(pool, { settings })
  expect(cold.exit).toMatchObject({ code: 0, signal: null })
  expect(warm.output).not.toContain('Traceback')
  expect(warm.exit).toMatchObject({ code: 0, signal: null })
  expect(cold.log).toContain('told')
  expect(warm.log).toContain('told')
  expect(warm.report.facts).toEqual(cold.report.facts)
  expect(warm.files).toEqual({ atexit: '', unclosed: 'written at exit' })
  expect(cold.files).toEqual(warm.files)
  expect(steady(warm.log)).toBe(steady(cold.log))
  expect(warm.output).toBe(cold.output)
  expect(warm.output).toContain('printed ü')
  // What is imported before the project: nothing is missing, and nothing of ours is in its way.
  const early = new Set<string>(warm.report['modules at import'])
  expect(cold.report['modules at import'].filter((name: string) => !early.has(name))).toEqual([])
  for (const name of ['crawl', 'warm', 'supervisor', 'hidden_values']) expect(early).not.toContain(name)
  expect(early).not.toContain('reporting.spiders.extra')
})
