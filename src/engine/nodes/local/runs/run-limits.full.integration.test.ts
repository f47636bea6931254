import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RunLimits } from '../../../../shared/contract/index.ts'
import { render } from '../../../../shared/texts/message.ts'
import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import type { ScheduleRequest, SeenJob } from '../../node-client.ts'
import { judgeOutcome } from '../../../jobs/outcome/outcome.ts'
import { buildEgg } from '../../../projects/egg-builder.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { keepLearnedModules, lendLearnedModules } from '../../../testing/learned-modules.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { findTestPython } from '../../../testing/test-python.ts'
import { LocalNode } from '../local-node.ts'
import { CAN_FORK } from '../warm/warm-pool.ts'

const WAIT = { timeout: 60_000, interval: 50 }
const MEGABYTE = 1024 * 1024

/** Spiders that each exceed one limit. Their work continues in threads and processes that Scrapy does not watch. */
const SPIDERS = `
import asyncio, os, signal, subprocess, sys, threading, time
import scrapy

class Waits(scrapy.Spider):
    custom_settings = {"LOGSTATS_INTERVAL": 0}
    async def start(self):
        self.begin()
        while True:
            await asyncio.sleep(0.1)
            self.go_on()
        yield
    def begin(self): pass
    def go_on(self): pass

class Hungry(Waits):
    name = "hungry"
    def begin(self):
        # The memory is a child's, so that only the sum over all processes is too much.
        code = "import time; kept = bytearray(120_000_000); kept[::4096] = b'x' * len(kept[::4096]); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)

class Busy(Waits):
    name = "busy"
    def begin(self):
        def spin():
            while True:
                # Half of a core: the rest is for the watching process.
                until = time.thread_time() + 0.02
                while time.thread_time() < until: pass
                time.sleep(0.02)
        threading.Thread(target=spin, daemon=True).start()
    def go_on(self):
        if time.process_time() > 0.6: self.logger.info("has spun for long enough")

class Quiet(Waits):
    name = "quiet"

class Loud(Waits):
    name = "loud"
    def go_on(self):
        self.logger.info("x" * 400_000)

class Greedy(Waits):
    name = "greedy"
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.kept = bytearray(4_000_000_000)

class Opens(Waits):
    name = "opens"
    def begin(self):
        try:
            self.kept = [open(os.devnull) for _ in range(1000)]
        except OSError as error:
            self.logger.info("stopped at: %s" % error)

class Stubborn(Waits):
    name = "stubborn"
    def begin(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
        child.stdout.readline()
        # One more, whose parent is gone at once: an orphan in a session of its own.
        both = "import os, subprocess, sys; print(subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True, stdout=subprocess.DEVNULL).pid)"
        orphan = int(subprocess.run([sys.executable, "-c", both, code], stdout=subprocess.PIPE).stdout)
        self.logger.info("grandchildren %d %d" % (child.pid, orphan))
`

const closings: (() => Promise<void>)[] = []

afterEach(() => closeAll(closings))

async function closeAll(open: (() => Promise<void>)[]): Promise<void> {
  for (const close of open.splice(0).reverse()) await close()
}

async function aNode(after = closings) {
  const directory = await makeTemporaryDirectory()
  after.push(directory.remove)
  const files = {
    'scrapy.cfg': '[settings]\ndefault = limited.settings\n',
    'limited/__init__.py': '',
    'limited/settings.py':
      'SPIDER_MODULES = ["limited.spiders"]\nTWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"\nTELNETCONSOLE_ENABLED = False\n',
    'limited/spiders.py': SPIDERS
  }
  const parts = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  await mkdir(join(directory.path, 'eggs'))
  const egg = join(directory.path, 'eggs', 'limited.egg')
  await writeFile(egg, await buildEgg(parts, { project: aProjectName('limited'), version: aVersionName('1') }))
  const open = async () => {
    lendLearnedModules(join(directory.path, 'local'))
    const node = await LocalNode.open({
      directory: join(directory.path, 'local'),
      resourcesDirectory: resolve('resources'),
      slots: () => 8,
      pythonPath: findTestPython(),
      source: async () => ({ egg }),
      // Leaves enough time for an orderly close, even on a busy machine.
      limitWaitsMs: [5_000, 5_000, 5_000],
      clock: systemClock,
      logger: silentLogger
    })
    const close = node.close.bind(node)
    let isClosed = false
    node.close = async () => {
      isClosed = true
      await close()
      keepLearnedModules(join(directory.path, 'local'))
    }
    after.push(async () => {
      if (isClosed) return
      await node.stopAll()
      await close()
    })
    return node
  }
  const logOf = (spider: string, jobid = spider) =>
    readFile(join(directory.path, 'local', 'logs', 'limited', spider, `${jobid}.log`), 'utf8').catch(() => '')
  return { open, logOf, directory: directory.path }
}

function aRequest(spider: string, limits: RunLimits | null): ScheduleRequest {
  const names = {
    project: aProjectName('limited'),
    version: aVersionName('1'),
    spider,
    jobid: spider,
    isVersionAsked: true
  }
  return { ...names, settings: {}, args: {}, priority: 0, secretNames: [], limits }
}

async function untilFinished(node: LocalNode, jobid: string): Promise<SeenJob> {
  return vi.waitFor(async () => {
    const job = (await node.listJobs()).finished.find((one) => one.jobid === jobid)
    expect(job).toBeDefined()
    return job!
  }, WAIT)
}

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

// Opening a node starts two Pythons that import Scrapy, so all runs with different jobids share one.
describe('one node', () => {
  const after: (() => Promise<void>)[] = []
  let t: Awaited<ReturnType<typeof aNode>>
  let node: LocalNode

  beforeAll(async () => {
    t = await aNode(after)
    node = await t.open()
    await vi.waitFor(() => expect(node.python.state().start.mode).toBe(CAN_FORK ? 'warm' : 'cold'), WAIT)
  })
  afterAll(() => closeAll(after))

  test('each limit ends the run that exceeds it and is the reason; a run without limits continues', async () => {
    const limits: Record<string, RunLimits | null> = {
      quiet: { silentSeconds: 6 },
      hungry: { memoryMegabytes: 130 },
      busy: { cpuSeconds: 2 },
      loud: { logMegabytes: 2 }
    }
    for (const [spider, limit] of Object.entries(limits)) await node.schedule(aRequest(spider, limit))
    await node.schedule({ ...aRequest('quiet', null), jobid: 'free' })
    await node.schedule({ ...aRequest('quiet', { wallSeconds: 4 }), jobid: 'timed' })
    const reasons: Record<string, string> = {}
    for (const jobid of [...Object.keys(limits), 'timed']) {
      const { spider, exit } = await untilFinished(node, jobid)
      const { outcome, reason } = judgeOutcome({ tail: await t.logOf(spider, jobid), exit, cancelAsked: false })
      expect(outcome).toBe('failed')
      reasons[jobid] = render(reason)
      expect(render(exit!.limit!)).toContain(`${reasons[jobid]} (`)
    }
    expect(reasons).toEqual({
      quiet: 'silence limit of 6 s',
      hungry: 'memory limit of 130 MB',
      busy: 'CPU time limit of 2 s',
      loud: 'log size limit of 2 MB',
      timed: 'wall time limit of 4 s'
    })
    // The runs received INT first, so Scrapy closed its files and logged this.
    for (const spider of ['quiet', 'hungry', 'busy'])
      expect(await t.logOf(spider)).toContain('Spider closed (shutdown)')
    expect((await node.listJobs()).running.map(({ jobid }) => jobid)).toEqual(['free'])
  })

  test('the usage of a run is the sum over its processes, including those in sessions of their own', async () => {
    let samples = 0
    node.events.on('usage', () => samples++)
    await node.schedule({ ...aRequest('hungry', null), jobid: 'fed' })
    await node.schedule({ ...aRequest('busy', null), jobid: 'spun' })
    await vi.waitFor(
      () => expect(node.usage.newestUsage('fed')?.memoryBytes ?? 0).toBeGreaterThan(150 * MEGABYTE),
      WAIT
    )
    expect(node.usage.newestUsage('fed')!.processes).toBe(2)
    await vi.waitFor(() => expect(node.usage.newestUsage('spun')?.cpuShare ?? 0).toBeGreaterThan(0.2), WAIT)
    expect(node.usage.newestUsage('spun')!.memoryBytes).toBeLessThan(150 * MEGABYTE)
    expect(samples).toBeGreaterThan(0)
    await vi.waitFor(async () => expect(await t.logOf('busy', 'spun')).toContain('long enough'), WAIT)
    await node.stopAll()
    const { exit } = await untilFinished(node, 'fed')
    expect(exit!.peakMemoryBytes).toBeGreaterThan(150 * MEGABYTE)
    expect((await untilFinished(node, 'spun')).exit!.cpuSeconds).toBeGreaterThan(0.5)
    expect(node.usage.usageOf('fed').length).toBeGreaterThan(0)
  })

  test.skipIf(process.platform === 'win32')('the kernel enforces address space and open files', async () => {
    await node.schedule(aRequest('greedy', { addressSpaceMegabytes: 2000 }))
    await node.schedule(aRequest('opens', { openFiles: 200 }))
    const { exit } = await untilFinished(node, 'greedy')
    const { outcome, reason } = judgeOutcome({ tail: await t.logOf('greedy'), exit, cancelAsked: false })
    expect([outcome, render(reason)]).toEqual(['failed', 'out of memory (MemoryError)'])
    await vi.waitFor(async () => expect(await t.logOf('opens')).toContain('Too many open files'), WAIT)
  })

  test.runIf(process.platform === 'linux')(
    'a spider that ignores INT is killed with its grandchildren in sessions of their own, even orphans',
    async () => {
      await node.schedule(aRequest('stubborn', null))
      const [child, orphan] = await vi.waitFor(async () => {
        const found = /grandchildren (\d+) (\d+)/.exec(await t.logOf('stubborn'))
        expect(found).not.toBeNull()
        return found!.slice(1).map(Number) as [number, number]
      }, WAIT)
      const { pid } = (await node.listJobs()).running.find(({ jobid }) => jobid === 'stubborn')!
      const cancel = (signal: 'INT' | 'KILL') =>
        node.cancel({ project: aProjectName('limited'), jobid: 'stubborn', signal })
      await cancel('INT')
      await cancel('INT')
      expect([pid!, child, orphan].map(isThere)).toEqual([true, true, true])
      await cancel('KILL')
      expect((await untilFinished(node, 'stubborn')).exit).toMatchObject({ signal: 'SIGKILL' })
      expect([pid!, child, orphan].map(isThere)).toEqual([false, false, false])
    }
  )
})

test('the next engine enforces the limits of adopted runs, and counts wall time from their start', async () => {
  const t = await aNode()
  const first = await t.open()
  await first.schedule(aRequest('quiet', { wallSeconds: 5 }))
  await vi.waitFor(async () => expect(await t.logOf('quiet')).toContain('Spider opened'), WAIT)
  await first.close()
  const second = await t.open()
  const { exit } = await untilFinished(second, 'quiet')
  expect(render(exit!.limit!)).toMatch(/^wall time limit of 5 s/)
  expect(await t.logOf('quiet')).toContain('Spider closed (shutdown)')
  expect(await readdir(join(t.directory, 'local', 'runs', 'quiet'))).toContain('limit.json')
  await second.close()
  const third = await t.open()
  expect(render((await third.listJobs()).finished[0]!.exit!.limit!)).toMatch(/^wall time limit of 5 s/)
})
