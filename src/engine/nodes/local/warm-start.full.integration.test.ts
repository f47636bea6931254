import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { findTestPython } from '../../testing/test-python.ts'
import type { RunSource } from './runs/launch-plan.ts'
import { readStartTime } from '../../runtime/process-identity.ts'
import { acceptRun, type RunChild, type RunExit, type RunSpec } from './runs/run-directory.ts'
import { listSpiders } from './pythons/spider-listing.ts'
import { startRun } from './runs/start-run.ts'
import { WarmPool, type WarmRequest } from './warm/warm-pool.ts'

const resourcesDirectory = resolve('resources')
const project = resolve('src/engine/nodes/local/testing/reporting-project')
const python = findTestPython()
const WAIT = { timeout: 60_000, interval: 20 }

let place: TemporaryDirectory
let egg: string
let pool: WarmPool
let parkingPool: WarmPool

beforeAll(async () => {
  place = await makeTemporaryDirectory()
  const source = join(place.path, 'source')
  await cp(project, source, { recursive: true })
  await promisify(execFile)(python, ['setup.py', '-q', 'bdist_egg'], { cwd: source })
  const [name] = await readdir(join(source, 'dist'))
  egg = join(source, 'dist', name!)
  // The parts of the namespace packages that are not in the egg.
  const outside = join(place.path, 'outside')
  for (const [folder, words] of Object.entries({ oldspace: 'old, outside', sharedspace: 'shared, outside' })) {
    await mkdir(join(outside, folder), { recursive: true })
    await cp(join(project, folder, '__init__.py'), join(outside, folder, '__init__.py'))
    await writeFile(join(outside, folder, 'outside.py'), `WORDS = "${words}"\n`)
  }
  vi.stubEnv('PYTHONPATH', outside)
  vi.stubEnv('TZ', 'Asia/Tokyo')
  // Most containers set this variable. Without it, output is written only at the very end, which is harder to handle.
  vi.stubEnv('PYTHONUNBUFFERED', undefined)
  pool = new WarmPool(poolOptions(place.path))
  pool.prepare(python)
  await untilWarm(pool)
  parkingPool = await openParkingPool('parking')
}, 120_000)

afterAll(async () => {
  await pool.close()
  await parkingPool.close()
  await place.remove()
  vi.unstubAllEnvs()
})

const poolOptions = (dataDirectory: string) => ({
  dataDirectory,
  resourcesDirectory,
  clock: systemClock,
  logger: silentLogger,
  onChange() {}
})

async function untilWarm(one: WarmPool): Promise<void> {
  await vi.waitFor(() => expect(one.mode(python).mode).toBe('warm'), WAIT)
}

const PLENTY = { freeBytes: 2 ** 34, totalBytes: 2 ** 35 }

async function openParkingPool(name: string, resources = resourcesDirectory): Promise<WarmPool> {
  const folder = join(place.path, name)
  // The facts about this Python are known, so they need not be measured again.
  await cp(join(place.path, 'warm'), join(folder, 'warm'), { recursive: true })
  const options = { ...poolOptions(folder), resourcesDirectory: resources }
  const one = new WarmPool({ ...options, freeSlots: () => 4, readFreeMemory: async () => PLENTY })
  one.prepare(python)
  await untilWarm(one)
  // Only a Python that has been used gets parked children.
  const first = join(folder, 'first')
  await mkdir(first)
  expect(await one.start(aRequest(first), NO_EVENTS)).toBe(true)
  one.slotsChanged()
  folders.set(one, folder)
  return one
}

const folders = new Map<WarmPool, string>()

async function parkedOf(one: WarmPool): Promise<{ supervisor: number; child: number } | null> {
  const pids = await pidsWith(`parking.py\0${folders.get(one)!}/`)
  const parents = await Promise.all(pids.map(async (pid) => Number((await statOf(pid))[1])))
  const at = parents.findIndex((parent) => pids.includes(parent))
  return at === -1 ? null : { supervisor: parents[at]!, child: pids[at]! }
}

async function untilParked(one: WarmPool): Promise<{ supervisor: number; child: number }> {
  one.slotsChanged()
  return vi.waitFor(async () => {
    const parked = await parkedOf(one)
    expect(parked).not.toBeNull()
    return parked!
  }, WAIT)
}

async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

async function pidsWith(words: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))
  return pids.filter((_, at) => commands[at]!.includes(words)).map(Number)
}

let runs = 0

/** Runs a spider to its end, cold, warm or in a parked child, always as the same job in a new directory. */
async function run(
  way: WarmPool | null,
  over: Partial<RunSpec> = {},
  source: RunSource = { egg },
  { resources = resourcesDirectory, mayBeCold = way === null } = {}
) {
  const home = join(place.path, `run-${++runs}`)
  const runsDirectory = join(home, 'runs')
  await mkdir(runsDirectory, { recursive: true })
  const report = join(home, 'report.json')
  const spec: RunSpec = {
    project: aProjectName('shop'),
    version: aVersionName('1'),
    isVersionAsked: true,
    spider: 'report',
    jobid: 'job',
    settings: {},
    secretNames: [],
    limits: null,
    priority: 0,
    acceptedAtMs: 0,
    ...over,
    args: { report, ...over.args }
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
  let pid: number | null = null
  const events = {
    child: (child: RunChild) => (pid = child.pid),
    exit: end,
    supervisorEnded: () => end(null)
  }
  const places = { runDirectory, source, directories, resourcesDirectory: resources }
  if (way) await untilWarm(way)
  const parked = way && folders.has(way) ? await untilParked(way) : null
  const mayStart = () => {
    if (!mayBeCold) end(null)
    return mayBeCold
  }
  await startRun({ ...places, spec, python, pool: way, events, mayStart })
  const exit = await ended
  if (parked && exit) expect(pid).toBe(parked.child)
  const read = (path: string) => readFile(path, 'utf8').catch(() => null)
  const log = await read(join(directories.logsDirectory, 'shop', spec.spider, 'job.log'))
  const output = await read(join(runDirectory, 'output.txt'))
  const text = await read(report)
  const packed = await readFile(`${report}.gz`).catch(() => null)
  const files = {
    atexit: await read(`${report}.atexit`),
    unclosed: await read(`${report}.unclosed`),
    packed: packed && gunzipSync(packed).toString(),
    deleted: await read(`${report}.deleted`)
  }
  const found =
    text === null ? null : JSON.parse(text.replaceAll(home, 'HOME').replaceAll(/ at 0x[0-9a-f]+/g, ' at 0x'))
  return { exit, log: log?.replaceAll(home, 'HOME') ?? null, output, report: found, files, home, runDirectory }
}

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
  const env = { OF_THE_JOB: 'ü', TZ: 'America/Lima' }
  const cold = await run(null, { settings, env })
  expect(cold.exit).toMatchObject({ code: 0, signal: null })
  expect(cold.log).toContain('told')
  const files = { atexit: '', unclosed: 'written at exit', packed: 'packed at exit', deleted: 'deleted' }
  expect(cold.files).toEqual(files)
  for (const way of [pool, parkingPool]) {
    const warm = await run(way, { settings, env })
    expect(warm.output).not.toContain('Traceback')
    expect(warm.exit).toMatchObject({ code: 0, signal: null })
    expect(warm.log).toContain('told')
    expect(warm.report.facts).toEqual(cold.report.facts)
    expect(warm.files).toEqual(files)
    expect(steady(warm.log)).toBe(steady(cold.log))
    expect(warm.output).toBe(cold.output)
    expect(warm.output).toContain('printed ü')
    // A warm start has every module that a cold start imports before the project, and no module of ours interferes.
    const early = new Set<string>(warm.report['modules at import'])
    expect(cold.report['modules at import'].filter((name: string) => !early.has(name))).toEqual([])
    for (const name of ['crawl', 'warm', 'parking', 'supervisor', 'hidden_values']) expect(early).not.toContain(name)
  }
})

test('a spider cannot tell a warm start from a cold one in the C locale either, in which systemd and cron start services', async () => {
  const names = ['LANG', 'LC_ALL', 'LC_CTYPE'] as const
  const before = names.map((name) => process.env[name])
  for (const name of names) vi.stubEnv(name, undefined)
  const dataDirectory = join(place.path, 'c-locale')
  await mkdir(dataDirectory)
  const own = new WarmPool(poolOptions(dataDirectory))
  try {
    own.prepare(python)
    const cold = await run(null)
    expect((await run(own)).report.facts).toEqual(cold.report.facts)
  } finally {
    await own.close()
    for (const [at, name] of names.entries()) vi.stubEnv(name, before[at])
  }
})

const FORKED = [
  ['warm', () => pool],
  ['parked', () => parkingPool]
] as const
const WAYS = [['cold', () => null], ...FORKED] as const

test.each(FORKED)('each %s spider has random numbers of its own', async (_, way) => {
  const [one, other] = [await run(way()), await run(way())]
  expect([one.exit, other.exit]).toMatchObject([{ code: 0 }, { code: 0 }])
  expect(one.report.random).not.toBe(other.report.random)
})

test('variables that Python reads at its start also take effect when spiders are forked', async () => {
  const env = { PYTHONHASHSEED: '7', PYTHONPATH: process.env['PYTHONPATH']!, LC_ALL: 'C.UTF-8' }
  const cold = await run(null, { env })
  const warm = await run(pool, { env }, { egg }, { mayBeCold: true })
  expect(warm.report.facts).toEqual(cold.report.facts)
  expect(warm.report.hash).toBe(cold.report.hash)
})

test.each(WAYS)('a %s spider and its arguments can have names that look like options', async (_, way) => {
  const { exit, report } = await run(way(), { spider: '-o', args: { '-x': '-y', _z: '--' } })
  expect(exit).toMatchObject({ code: 0 })
  expect(report.facts.arguments).toEqual(expect.arrayContaining(['-o', '-x=-y', '_z=--']))
})

test.each(WAYS)('the processes that a %s spider started end with it, in whatever session they are', async (_, way) => {
  const { exit, report } = await run(way(), { spider: 'family' })
  expect(exit).toMatchObject({ code: 0 })
  expect(exit!.cpuSeconds).toBeGreaterThan(0.01)
  expect(exit!.maxRssBytes).toBeGreaterThan(10_000_000)
  expect(report).toHaveLength(3)
  for (const pid of report) expect(await readStartTime(pid)).toBeNull()
})

test.each(['cold', 'warm', 'parked'])(
  'a %s spider whose supervisor was killed before it recorded itself runs no code',
  async (way) => {
    const folder = await mkdtemp(join(place.path, 'killed-'))
    const resources = join(folder, 'resources')
    await cp(join(resourcesDirectory, 'python'), join(resources, 'python'), { recursive: true })
    const script = join(resources, 'python', 'supervisor.py')
    const marker = '        child = {"pid": pid'
    const text = await readFile(script, 'utf8')
    expect(text).toContain(marker)
    await writeFile(script, text.replace(marker, `        os.kill(os.getpid(), signal.SIGKILL)\n${marker}`))
    const options = { ...poolOptions(folder), resourcesDirectory: resources }
    await cp(join(place.path, 'warm'), join(folder, 'warm'), { recursive: true })
    const pools = {
      cold: () => null,
      warm: () => new WarmPool(options),
      parked: () => openParkingPool(`${folder}-x`, resources)
    }
    const killing = await pools[way as keyof typeof pools]()
    try {
      killing?.prepare(python)
      const { exit, home, runDirectory } = await run(killing, {}, { egg }, { resources })
      expect(exit).toBeNull()
      await vi.waitFor(async () => expect(await pidsWith(runDirectory)).toEqual([]), WAIT)
      expect(await readdir(home)).not.toContain('report.json')
    } finally {
      await killing?.close()
    }
  }
)

test.each(FORKED)('a %s spider that cannot start says why in its output', async (_, way) => {
  const directory = await mkdtemp(join(place.path, 'unable-'))
  const request = aRequest(directory)
  const { promise: ended, resolve: end } = Promise.withResolvers<RunExit | null>()
  const events = { child() {}, exit: end, supervisorEnded: () => end(null) }
  const workingDirectory = join(directory, 'missing')
  await untilParked(parkingPool)
  expect(await way().start({ ...request, launch: { ...request.launch, workingDirectory } }, events)).toBe(true)
  expect(await ended).toMatchObject({ code: 1 })
  expect(await readFile(join(directory, 'output.txt'), 'utf8')).toContain('FileNotFoundError')
})

test.each(WAYS)('the kernel enforces the limits of a %s spider', async (_, way) => {
  const limits = { openFiles: 200, addressSpaceMegabytes: 4096, cpuSeconds: 100 }
  const { report } = await run(way(), { limits })
  expect(report.facts.limits).toMatchObject({
    RLIMIT_NOFILE: [200, 200],
    RLIMIT_AS: [4096 * 2 ** 20, 4096 * 2 ** 20],
    RLIMIT_CPU: [160, -1]
  })
})

test.each(WAYS)('a secret of a %s spider is in no process list and in no log', async (_, way) => {
  const token = `it's a "long" secret with ünicode, a \\ and so many words that pprint breaks it into several literals`
  const settings = { FTP_PASSWORD: token }
  const secretNames = ['token', 'FTP_PASSWORD']
  const { exit, log, report, runDirectory } = await run(way(), {
    spider: 'secret',
    settings,
    secretNames,
    args: { token }
  })
  expect(exit).toMatchObject({ code: 1 })
  expect(report.token).toBe(token)
  expect(report.seen.join()).toContain('secret')
  for (const text of [...report.seen, log]) expect(text).not.toMatch(/so.many.words|literals/)
  expect(log).toContain('The token is ******.')
  expect(log).toContain('RuntimeError: https://example.com/?token=******')
  for (const name of await readdir(runDirectory)) {
    expect((await stat(join(runDirectory, name))).mode & 0o077, name).toBe(0)
  }
})

const listed = () => ({
  project: aProjectName('reporting'),
  dataDirectory: place.path,
  workDirectory: join(place.path, 'work')
})

test('a fork lists the spiders of a project much faster than a start of Python', async () => {
  const options = { python, ...listed(), resourcesDirectory, clock: systemClock }
  const cold = await listSpiders({ ...options, source: { egg }, pool: null })
  expect(cold).toEqual(['-o', 'family', 'report', 'secret'])
  expect(await listSpiders({ ...options, source: { egg }, pool })).toEqual(cold)
  expect(await readdir(place.path)).not.toContainEqual(expect.stringMatching(/^listing-/))
})

test('a parked child runs the code that is current when its run starts, once, and the next run gets another child', async () => {
  const versions = await Promise.all(
    ['old', 'new'].map(async (words) => {
      const folder = join(place.path, `version-${words}`)
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'shop_settings.py'), 'SPIDER_MODULES = ["shop_spiders"]\n')
      await writeFile(
        join(folder, 'shop_spiders.py'),
        `import json, os, scrapy
class Shop(scrapy.Spider):
    name = "shop"
    def __init__(self, report, **kwargs):
        super().__init__(**kwargs)
        with open(report, "w") as file:
            json.dump([${JSON.stringify(words)}, os.environ.get("OF_THE_JOB"), os.getpid()], file)
`
      )
      return { settingsModule: 'shop_settings', path: [folder] }
    })
  )
  const first = await run(parkingPool, { spider: 'shop', env: { OF_THE_JOB: '1' } }, versions[0])
  const second = await run(parkingPool, { spider: 'shop' }, versions[1])
  expect([first.report.slice(0, 2), second.report.slice(0, 2)]).toEqual([
    ['old', '1'],
    ['new', null]
  ])
  expect(first.report[2]).not.toBe(second.report[2])
})

test.each(['supervisor', 'child'] as const)('a run whose parked %s was killed still starts, once', async (which) => {
  const own = await openParkingPool(`killed-${which}`)
  try {
    const parked = await untilParked(own)
    process.kill(parked[which], 'SIGKILL')
    folders.delete(own)
    const { exit, report } = await run(own, {}, { egg }, { mayBeCold: true })
    expect(exit).toMatchObject({ code: 0, signal: null })
    expect(report.facts).toBeDefined()
  } finally {
    await own.close()
  }
})

test('a project without an egg runs by the name of its settings module', async () => {
  const folder = join(place.path, 'source')
  const { exit, report } = await run(pool, {}, { settingsModule: 'reporting.settings', path: [folder] })
  expect(exit).toMatchObject({ code: 0 })
  expect(report.facts.path[0]).toBe(folder)
})

test('an abort ends a listing that hangs, with all processes that it started', async () => {
  const folder = join(place.path, 'hangs')
  await mkdir(folder)
  const pidFile = join(folder, 'pid')
  await writeFile(
    join(folder, 'hanging.py'),
    `import subprocess, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(${JSON.stringify(pidFile)}, "w").write(str(child.pid))
time.sleep(600)
`
  )
  const abort = new AbortController()
  const options = { python, ...listed(), resourcesDirectory, clock: systemClock, signal: abort.signal }
  const listing = listSpiders({ ...options, source: { settingsModule: 'hanging', path: [folder] }, pool })
  const pid = await vi.waitFor(async () => {
    const found = Number(await readFile(pidFile, 'utf8'))
    expect(found).toBeGreaterThan(1)
    return found
  }, WAIT)
  abort.abort()
  await expect(listing).rejects.toMatchObject({ name: 'AbortError' })
  expect(await readStartTime(pid)).toBeNull()
})

test('a parent that cannot fork, dies or has outdated files is replaced; spiders start cold meanwhile', async () => {
  const folder = join(place.path, 'other-pool')
  await cp(join(place.path, 'warm'), join(folder, 'warm'), { recursive: true })
  const changes: string[] = []
  const options = { dataDirectory: folder, resourcesDirectory, clock: systemClock, logger: silentLogger }
  const other = new WarmPool({ ...options, onChange: () => changes.push(other.mode(python).mode) })
  try {
    expect(await other.start(aRequest(folder), NO_EVENTS)).toBe(false)
    expect(other.mode(python).mode).toBe('warming')
    await untilWarm(other)
    // Simulates the installation of a package.
    await writeFile(join(place.path, 'outside', 'added.py'), '')
    expect(await other.start(aRequest(folder), NO_EVENTS)).toBe(false)
    expect(other.mode(python).mode).toBe('warming')
    await untilWarm(other)
  } finally {
    await other.close()
  }
  expect(new Set(changes)).toEqual(new Set(['warming', 'warm']))
})

test('an import that installs a reactor is left to the spiders; a Python without Scrapy is cold and says why', async () => {
  const folder = join(place.path, 'strange')
  await mkdir(join(folder, 'bin'), { recursive: true })
  vi.stubEnv('PYTHONPATH', folder)
  await writeFile(
    join(folder, 'protego.py'),
    'from twisted.internet import reactor\nclass Protego:\n    parse = staticmethod(lambda body: None)\n'
  )
  const options = { dataDirectory: folder, resourcesDirectory, clock: systemClock, logger: silentLogger, onChange() {} }
  const strange = new WarmPool(options)
  const bare = join(folder, 'bin', 'python')
  await writeFile(bare, `#!/bin/sh\nexec ${python} -S "$@"\n`, { mode: 0o755 })
  try {
    strange.prepare(python)
    strange.prepare(bare)
    await untilWarm(strange)
    // The other Python may be learning in a separate directory.
    const name = (await readdir(join(folder, 'warm'))).find((one) => !one.endsWith('.dry'))
    expect(JSON.parse(await readFile(join(folder, 'warm', name!), 'utf8')).excluded).toContain('protego')
    await vi.waitFor(
      () =>
        expect(strange.mode(bare)).toMatchObject({
          mode: 'cold',
          code: 'start.fails',
          text: expect.stringContaining("No module named 'scrapy'")
        }),
      WAIT
    )
  } finally {
    await strange.close()
    vi.stubEnv('PYTHONPATH', join(place.path, 'outside'))
  }
})

test('parked children end when the engine closes or is killed, and when their parent is replaced', async () => {
  const own = await openParkingPool('ending')
  const folder = folders.get(own)!
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const data = join(folder, signal)
    await cp(join(place.path, 'warm'), join(data, 'warm'), { recursive: true })
    const engine = spawn(process.execPath, ['--input-type=module', '-e', ENGINE, python, data, resourcesDirectory], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    await once(engine.stdout, 'data')
    await vi.waitFor(async () => expect(await pidsWith(`parking.py\0${data}/`)).toHaveLength(2), WAIT)
    engine.kill(signal)
    await once(engine, 'exit')
    await untilNothingIsLeft(data)
  }
  await untilParked(own)
  // Simulates the installation of a package.
  await writeFile(join(place.path, 'outside', 'another.py'), '')
  expect(await own.start(aRequest(folder), NO_EVENTS)).toBe(false)
  await vi.waitFor(async () => expect(await parkedOf(own)).toBeNull(), WAIT)
  await own.close()
  await untilNothingIsLeft(folder)
})

async function untilNothingIsLeft(folder: string): Promise<void> {
  await vi.waitFor(async () => expect(await pidsWith(`${folder}/`)).toEqual([]), WAIT)
}

/** A process with a warm pool. Its first start fails. */
const ENGINE = `
import { mkdtempSync } from 'node:fs'
import { WarmPool } from ${JSON.stringify(resolve('src/engine/nodes/local/warm/warm-pool.ts'))}
import { systemClock as clock } from ${JSON.stringify(resolve('src/engine/runtime/clock.ts'))}
import { silentLogger as logger } from ${JSON.stringify(resolve('src/engine/runtime/logger.ts'))}
const [python, dataDirectory, resourcesDirectory] = process.argv.slice(1)
const options = { dataDirectory, resourcesDirectory, clock, logger, freeSlots: () => 1, onChange() {} }
const pool = new WarmPool({ ...options, readFreeMemory: async () => ({ freeBytes: 2 ** 34, totalBytes: 2 ** 35 }) })
setInterval(() => pool.slotsChanged(), 50)
process.once('SIGTERM', async () => {
  await pool.close()
  process.exit()
})
pool.prepare(python)
while (pool.mode(python).mode !== 'warm') await new Promise((resolve) => setTimeout(resolve, 5))
const directory = mkdtempSync(dataDirectory + '/run-')
const launch = { id: 'x', python, project: 'p', spider: 's', arguments: [], source: { egg: '' }, environment: {} }
const rest = { workingDirectory: directory, logFile: '', directories: [], secrets: [], resourceLimits: null }
const events = { child() {}, exit() {}, supervisorEnded() {} }
await pool.start({ do: 'start', directory, launch: { ...launch, ...rest } }, events)
console.log('started')`

const NO_EVENTS = { child() {}, exit() {}, supervisorEnded() {} }

function aRequest(directory: string): WarmRequest {
  const launch = {
    id: 'x',
    python,
    project: aProjectName('p'),
    spider: 's',
    arguments: [],
    source: { egg },
    environment: {},
    workingDirectory: directory,
    logFile: '',
    directories: [],
    secrets: [],
    resourceLimits: null
  }
  return { do: 'start', directory, launch }
}
