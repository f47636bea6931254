import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { signalGroup } from '../processes/run-command.ts'
import { isAlive } from '../../../runtime/process-identity.ts'
import { acceptRun, preventSpider, readRunFiles, type RunSpec, writeWhole } from './run-directory.ts'
import { RunList, type RunListOptions } from './run-list.ts'
import { isCore } from '../../../../../scripts/test-length.mjs'

const SHOP = aProjectName('shop')

/** Replaces the runner, so that these tests need Python but no Scrapy. The spider's name determines its behavior. */
const FAKE_RUNNER = `
import json, os, shutil, signal, subprocess, sys, time
with open(sys.argv[1] + "/launch.json") as file:
    launch = json.load(file)
spider = launch["spider"]
job = next(value for value in launch["arguments"] if value.startswith("_job=")).split("=", 1)[1]
with open(os.environ["TOUCH"], "a") as file:
    file.write(job + "\\n")
if spider == "fails":
    print("no such module", file=sys.stderr)
    sys.exit(3)
if spider == "vandal":
    shutil.rmtree(sys.argv[1])
if spider == "liar":
    with open(sys.argv[1] + "/exit.json", "w") as file:
        json.dump({"code": 0, "signal": None, "atMs": 1}, file)
if spider == "plumber":
    print("no such module", flush=True)
    os.mkfifo(launch["logFile"])
    os.mkfifo(sys.argv[1] + "/exit.json.part")
    sys.exit(3)
if spider == "stubborn":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if spider == "parent":
    child = subprocess.Popen(["sleep", "60"])
    with open(os.environ["TOUCH"] + ".grandchild", "w") as file:
        file.write(str(child.pid))
if spider not in ("quick", "vandal"):
    time.sleep(60)
`
const WAIT = { timeout: 20_000, interval: 20 }
// Each test starts several Pythons, which is slow on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

interface Workplace {
  directory: TemporaryDirectory
  touched: () => Promise<string[]>
  open: (over?: Partial<RunListOptions>) => Promise<RunList>
}

const workplaces: { directory: TemporaryDirectory; lists: RunList[] }[] = []

async function aWorkplace(): Promise<Workplace> {
  const directory = await makeTemporaryDirectory()
  const lists: RunList[] = []
  workplaces.push({ directory, lists })
  const resourcesDirectory = join(directory.path, 'resources')
  await mkdir(join(resourcesDirectory, 'python'), { recursive: true })
  await copyFile(resolve('resources/python/supervisor.py'), join(resourcesDirectory, 'python', 'supervisor.py'))
  await writeFile(join(resourcesDirectory, 'python', 'crawl.py'), FAKE_RUNNER)
  vi.stubEnv('TOUCH', join(directory.path, 'touched'))
  return {
    directory,
    async touched() {
      return (await readFile(join(directory.path, 'touched'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
    },
    async open(over = {}) {
      const data = join(directory.path, 'data')
      const list = await RunList.open({
        dataDirectory: data,
        resourcesDirectory,
        slots: () => 2,
        python: () => 'python3',
        source: async () => ({ egg: '/an.egg' }),
        directories: {
          logsDirectory: join(data, 'logs'),
          itemsDirectory: null,
          jobsDirectory: null,
          workDirectory: join(data, 'work')
        },
        pool: null,
        finishedKept: 1000,
        clock: systemClock,
        logger: silentLogger,
        onChange() {},
        onStart() {},
        ...over
      })
      lists.push(list)
      return list
    }
  }
}

afterEach(async () => {
  for (const { directory, lists } of workplaces.splice(0)) {
    await Promise.all(lists.map((list) => list.close()))
    const runs = join(directory.path, 'data', 'runs')
    for (const jobid of await readdir(runs).catch(() => [])) {
      // Waits until all processes have ended, because a supervisor still writes after its child has exited.
      await vi.waitFor(async () => {
        if (!existsSync(join(runs, jobid, 'launch.json'))) return
        const { supervisor, child, exit } = await readRunFiles(join(runs, jobid))
        if (child && !exit) await signalGroup(child.pid, 'KILL')
        if (exit && !supervisor) return
        expect(supervisor).not.toBeNull()
        if (supervisor!.pid !== process.pid) expect(await isAlive(supervisor!)).toBe(false)
      }, WAIT)
    }
    await directory.remove()
  }
  vi.unstubAllEnvs()
})

let accepted = 0

function aSpec(jobid: string, spider: string, over: Partial<RunSpec> = {}): RunSpec {
  const acceptedAtMs = Date.now() + ++accepted
  const none = { settings: {}, args: {}, secretNames: [], limits: null, isVersionAsked: true }
  return { project: SHOP, version: aVersionName('1'), spider, jobid, ...none, priority: 0, acceptedAtMs, ...over }
}

function idsIn(list: RunList) {
  const { pending, running, finished } = list.list()
  const ids = (runs: typeof pending) => runs.map((run) => run.spec.jobid)
  return { pending: ids(pending), running: ids(running), finished: ids(finished) }
}

async function untilRunning(list: RunList, jobid: string) {
  return vi.waitFor(() => {
    const run = list.list().running.find((one) => one.spec.jobid === jobid && one.child !== null)
    expect(run).toBeDefined()
    return run!
  }, WAIT)
}

async function untilEnded(list: RunList, jobid: string) {
  return vi.waitFor(() => {
    const run = list.list().finished.find((one) => one.spec.jobid === jobid)
    expect(run).toBeDefined()
    return { code: run!.exit!.code, signal: run!.exit!.signal }
  }, WAIT)
}

test('a run starts at once, and its end has its exit code', async () => {
  const { open, touched } = await aWorkplace()
  let changes = 0
  const list = await open({ onChange: () => changes++ })
  expect(await list.accept(aSpec('a', 'quick'))).toBe(true)
  expect(await untilEnded(list, 'a')).toEqual({ code: 0, signal: null })
  expect(await touched()).toEqual(['a'])
  expect(changes).toBeGreaterThanOrEqual(2)
})

test('a jobid is used once, by this engine and the next', async () => {
  const { open, touched } = await aWorkplace()
  const first = await open()
  const taken = await Promise.all([first.accept(aSpec('a', 'quick')), first.accept(aSpec('a', 'quick'))])
  expect(taken.filter(Boolean)).toHaveLength(1)
  await untilEnded(first, 'a')
  await first.close()
  const second = await open()
  expect(await second.accept(aSpec('a', 'quick'))).toBe(false)
  expect(idsIn(second).finished).toEqual(['a'])
  expect(await touched()).toEqual(['a'])
})

test('no more runs than slots are active; the rest follow by priority, then age', async () => {
  const { open } = await aWorkplace()
  const list = await open({ slots: () => 1 })
  await list.accept(aSpec('first', 'waits'))
  await untilRunning(list, 'first')
  for (const jobid of ['old', 'young']) await list.accept(aSpec(jobid, 'waits'))
  await list.accept(aSpec('urgent', 'waits', { priority: 5 }))
  await untilRunning(list, 'first')
  expect(idsIn(list)).toEqual({ pending: ['urgent', 'old', 'young'], running: ['first'], finished: [] })
  await list.cancel(SHOP, 'first', 'KILL')
  await untilRunning(list, 'urgent')
  expect(idsIn(list)).toEqual({ pending: ['old', 'young'], running: ['urgent'], finished: ['first'] })
})

test('the output of a run that failed before it opened its log becomes its log', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'fails'))
  expect(await untilEnded(list, 'a')).toEqual({ code: 3, signal: null })
  expect(await readFile(join(directory.path, 'data/logs/shop/fails/a.log'), 'utf8')).toBe('no such module\n')
})

test.skipIf(process.platform === 'win32').each([
  ['removes the directory of its run', 'vandal', 0],
  ['puts pipes where its log and its end are written', 'plumber', 3]
])('a spider that %s releases its slot', async (_what, spider, code) => {
  const { open } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', spider))
  expect(await untilEnded(list, 'a')).toEqual({ code, signal: null })
})

test.skipIf(process.platform === 'win32')('a spider that writes its own end keeps its slot until it ends', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'liar'))
  const run = join(directory.path, 'data', 'runs', 'a')
  await vi.waitFor(async () => expect((await readRunFiles(run)).exit).not.toBeNull(), WAIT)
  await list.close()
  const next = await open()
  expect(idsIn(next)).toEqual({ pending: [], running: ['a'], finished: [] })
  await next.cancel(SHOP, 'a', 'KILL')
  expect(await untilEnded(next, 'a')).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a run whose supervisor and directory are gone has ended, with an unknown result', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'sleeps'))
  await vi.waitFor(() => expect(idsIn(list).running).toEqual(['a']), WAIT)
  const run = join(directory.path, 'data', 'runs', 'a')
  const { supervisor, child } = await readRunFiles(run)
  await rm(run, { recursive: true })
  process.kill(supervisor!.pid, 'SIGKILL')
  process.kill(child!.pid, 'SIGKILL')
  expect(await untilEnded(list, 'a')).toEqual({ code: null, signal: null })
})

test('a run whose egg has gone, or whose Python cannot be started, ends with a log that says so', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open({
    source: async (_, version) => (version === '1' ? { egg: '/an.egg' } : null),
    python: () => '/no/python'
  })
  await list.accept(aSpec('a', 'quick'))
  await list.accept(aSpec('b', 'quick', { version: aVersionName('2') }))
  expect([await untilEnded(list, 'a'), await untilEnded(list, 'b')]).toEqual(Array(2).fill({ code: 1, signal: null }))
  const log = (jobid: string) => readFile(join(directory.path, `data/logs/shop/quick/${jobid}.log`), 'utf8')
  expect(await log('a')).toContain('could not be started: spawn /no/python ENOENT')
  expect(await log('b')).toContain('The egg of shop, version 2, no longer exists')
})

test('a run that could not be started releases its slot, even if its log cannot be written', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open({ slots: () => 1, python: ({ spider }) => (spider === 'quick' ? 'python3' : '/no/python') })
  await mkdir(join(directory.path, 'data/logs'), { recursive: true })
  await writeFile(join(directory.path, 'data/logs/other'), 'a file where a folder should be')
  await list.accept(aSpec('a', 'fails', { project: aProjectName('other') }))
  await list.accept(aSpec('b', 'quick'))
  expect(await untilEnded(list, 'a')).toEqual({ code: 1, signal: null })
  expect(await untilEnded(list, 'b')).toEqual({ code: 0, signal: null })
})

test('an interrupted spider ends by the signal; a killed one takes its children with it', async () => {
  const { open, directory, touched } = await aWorkplace()
  const list = await open({ slots: () => 3 })
  for (const spider of ['waits', 'stubborn', 'parent']) await list.accept(aSpec(spider, spider))
  for (const jobid of ['waits', 'stubborn', 'parent']) await untilRunning(list, jobid)
  const grandchild = await vi.waitFor(async () => {
    const pid = Number(await readFile(join(directory.path, 'touched.grandchild'), 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  }, WAIT)
  // Waits, because a Python that is interrupted before it runs our code exits with status 1 and not because of the
  // signal.
  await vi.waitFor(async () => expect(await touched()).toHaveLength(3), WAIT)
  expect(await list.cancel(aProjectName('other project'), 'waits', 'INT')).toBeNull()
  expect(await list.cancel(SHOP, 'waits', 'INT')).toBe('running')
  expect(await untilEnded(list, 'waits')).toEqual({ code: null, signal: 'SIGINT' })
  expect(await list.cancel(SHOP, 'stubborn', 'KILL')).toBe('running')
  expect(await list.cancel(SHOP, 'parent', 'KILL')).toBe('running')
  expect(await untilEnded(list, 'stubborn')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(await untilEnded(list, 'parent')).toEqual({ code: null, signal: 'SIGKILL' })
  await expect.poll(() => isAlive({ pid: grandchild, startTime: '' }), WAIT).toBe(false)
  expect(await list.cancel(SHOP, 'parent', 'KILL')).toBeNull()
})

test('a signal to a run that has no process yet reaches it later', async () => {
  const { open } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'waits'))
  await list.signal(list.list().pending[0]!, 'KILL')
  expect(await untilEnded(list, 'a')).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a cancel before the spider starts prevents it: no code of the project runs, and nothing is left', async () => {
  const { open, touched, directory } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'waits'))
  expect(idsIn(list)).toEqual({ pending: ['a'], running: [], finished: [] })
  const again = list.cancel(SHOP, 'a', 'KILL')
  expect(await list.cancel(SHOP, 'a', 'INT')).toBe('pending')
  expect(await again).toBe('pending')
  expect(idsIn(list)).toEqual({ pending: [], running: [], finished: [] })
  expect(await touched()).toEqual([])
  expect(existsSync(join(directory.path, 'data', 'logs', 'shop', 'waits', 'a.log'))).toBe(false)
  await list.close()
  const next = await open()
  expect(idsIn(next)).toEqual({ pending: [], running: [], finished: [] })
  expect(next.freeSlots()).toBe(2)
})

test('a run that was cancelled before its spider started does not start after a crash either', async () => {
  const { open, touched } = await aWorkplace()
  const list = await open({ python: () => null })
  await list.accept(aSpec('a', 'waits'))
  expect(preventSpider(list.list().pending[0]!.directory)).toBe(true)
  await list.close()
  const next = await open()
  expect(await untilEnded(next, 'a')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(await touched()).toEqual([])
})

test('a cancel at the moment of the start either prevents the spider or ends it by the signal', async () => {
  const { open, touched } = await aWorkplace()
  const list = await open({ slots: () => 8 })
  const ids = Array.from({ length: 8 }, (_, index) => `run-${index}`)
  const answers = await Promise.all(
    ids.map(async (id, index) => {
      await list.accept(aSpec(id, 'waits'))
      await new Promise((resolve) => void setTimeout(resolve, index * 15))
      return list.cancel(SHOP, id, 'KILL')
    })
  )
  const prevented = ids.filter((_, index) => answers[index] === 'pending')
  for (const id of ids.filter((one) => !prevented.includes(one)))
    expect(await untilEnded(list, id)).toEqual({ code: null, signal: 'SIGKILL' })
  expect((await touched()).filter((id) => prevented.includes(id))).toEqual([])
})

test('a cancelled pending run never starts, in this engine or the next', async () => {
  const { open, touched } = await aWorkplace()
  const list = await open({ python: () => null })
  await list.accept(aSpec('a', 'quick'))
  expect(await list.cancel(SHOP, 'a', 'INT')).toBe('pending')
  await list.close()
  const next = await open()
  expect(idsIn(next)).toEqual({ pending: [], running: [], finished: [] })
  expect(await touched()).toEqual([])
})

test('emits an event for each run that gets a process, and for no other', async () => {
  const { open } = await aWorkplace()
  const started: string[] = []
  let python: string | null = null
  const list = await open({ python: () => python, onStart: ({ jobid }) => void started.push(jobid) })
  await list.accept(aSpec('a', 'quick'))
  await list.accept(aSpec('b', 'quick'))
  await list.cancel(SHOP, 'b', 'INT')
  expect(started).toEqual([])
  python = 'python3'
  list.fillSlots()
  await untilEnded(list, 'a')
  expect(started).toEqual(['a'])
})

test('runs wait while there is no Python, and start when it is there', async () => {
  const { open } = await aWorkplace()
  let python: string | null = null
  const list = await open({ python: () => python })
  await list.accept(aSpec('a', 'quick'))
  expect(idsIn(list).pending).toEqual(['a'])
  python = 'python3'
  list.fillSlots()
  expect(await untilEnded(list, 'a')).toEqual({ code: 0, signal: null })
})

test.skipIf(isCore)('a run whose project has no Python does not block those behind it', async () => {
  const { open } = await aWorkplace()
  const ready = new Set(['shop'])
  const list = await open({ slots: () => 1, python: ({ project }) => (ready.has(project) ? 'python3' : null) })
  await list.accept(aSpec('waits', 'quick', { project: aProjectName('slow'), priority: 9 }))
  await list.accept(aSpec('goes', 'quick'))
  await untilEnded(list, 'goes')
  expect(list.list().pending).toMatchObject([{ spec: { jobid: 'waits' }, python: null }])
  ready.add('slow')
  list.fillSlots()
  await untilEnded(list, 'waits')
  expect(list.list().finished[0]).toMatchObject({ python: 'python3' })
})

test('the next engine adopts running runs, starts accepted ones, knows the ended ones, and cleans up the rest', async () => {
  const { open, directory, touched } = await aWorkplace()
  const first = await open({ slots: () => 2 })
  for (const [jobid, spider] of [
    ['ended', 'quick'],
    ['lives', 'waits'],
    ['dies', 'waits']
  ] as const) {
    await first.accept(aSpec(jobid, spider))
  }
  await untilEnded(first, 'ended')
  const lives = await untilRunning(first, 'lives')
  const dies = await untilRunning(first, 'dies')
  await first.accept(aSpec('accepted', 'waits'))
  await vi.waitFor(async () => expect(await touched()).toHaveLength(3), WAIT)
  await first.close()
  await signalGroup(dies.child!.pid, 'KILL')
  const runs = join(directory.path, 'data', 'runs')
  await mkdir(join(runs, 'half-written'))
  await vi.waitFor(async () => expect((await readRunFiles(join(runs, 'dies'))).exit).not.toBeNull(), WAIT)

  const second = await open({ slots: () => 2 })
  expect((await untilRunning(second, 'lives')).child).toEqual(lives.child)
  await untilRunning(second, 'accepted')
  expect(await untilEnded(second, 'dies')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(idsIn(second).finished).toEqual(['dies', 'ended'])
  expect(await readdir(runs)).not.toContain('half-written')
  await second.cancel(SHOP, 'lives', 'INT')
  expect(await untilEnded(second, 'lives')).toEqual({ code: null, signal: 'SIGINT' })
  await vi.waitFor(async () => expect((await touched()).sort()).toEqual(['accepted', 'dies', 'ended', 'lives']), WAIT)
})

test.skipIf(isCore)('a spider continues without its supervisor; its result is then unknown', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'waits'))
  const run = await untilRunning(list, 'a')
  const { supervisor } = await readRunFiles(join(directory.path, 'data', 'runs', 'a'))
  process.kill(supervisor!.pid, 'SIGKILL')
  await expect.poll(() => isAlive(supervisor!), WAIT).toBe(false)
  expect(idsIn(list).running).toEqual(['a'])
  await signalGroup(run.child!.pid, 'KILL')
  expect(await untilEnded(list, 'a')).toEqual({ code: null, signal: null })
})

test('a run from before the last boot has ended with an unknown result', async () => {
  const { open, directory, touched } = await aWorkplace()
  const runs = join(directory.path, 'data', 'runs')
  await mkdir(runs, { recursive: true })
  await acceptRun(runs, aSpec('a', 'quick'))
  // This is our own pid, but the start time is that of an earlier process with the same pid.
  await writeWhole(join(runs, 'a'), 'started', { pid: process.pid, startTime: 'an earlier boot:1' })
  const list = await open()
  expect(await untilEnded(list, 'a')).toEqual({ code: null, signal: null })
  expect(await touched()).toEqual([])
})

test('an unreadable claim ends the run with an unknown result, and does not hold its slot', async () => {
  const { open, directory, touched } = await aWorkplace()
  const runs = join(directory.path, 'data', 'runs')
  await mkdir(runs, { recursive: true })
  await acceptRun(runs, aSpec('a', 'quick'))
  await writeFile(join(runs, 'a', 'started'), '')
  const list = await open()
  expect(await untilEnded(list, 'a')).toEqual({ code: null, signal: null })
  expect(await touched()).toEqual([])
})

test.skipIf(isCore)('only one of many supervisors of a run starts it', async () => {
  const { open, directory, touched } = await aWorkplace()
  const list = await open()
  await list.accept(aSpec('a', 'quick'))
  await untilEnded(list, 'a')
  const supervisor = join(directory.path, 'resources', 'python', 'supervisor.py')
  const again = [1, 2, 3].map(() => spawn('python3', ['-I', '-S', supervisor, join(directory.path, 'data/runs/a')]))
  const codes = await Promise.all(again.map(async (child) => (await once(child, 'exit'))[0]))
  expect(codes).toEqual([3, 3, 3])
  expect(await touched()).toEqual(['a'])
})

test.skipIf(isCore)('only the newest ended runs are kept in memory; their logs stay', async () => {
  const { open, directory } = await aWorkplace()
  const list = await open({ slots: () => 1, finishedKept: 2 })
  for (const jobid of ['a', 'b', 'c']) {
    await list.accept(aSpec(jobid, 'fails'))
    await untilEnded(list, jobid)
  }
  expect(idsIn(list).finished).toEqual(['c', 'b'])
  await expect.poll(() => readdir(join(directory.path, 'data/runs')), WAIT).toEqual(['b', 'c'])
  expect(await readdir(join(directory.path, 'data/logs/shop/fails'))).toEqual(['a.log', 'b.log', 'c.log'])
})
