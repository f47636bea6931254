import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ScheduleRequest, SeenExit, SeenJob } from '../node-client.ts'
import { buildEgg, buildEggFromFolder } from '../../projects/egg-builder.ts'
import { asWheel } from '../../testing/archives.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { keepLearnedModules, lendLearnedModules } from '../../testing/learned-modules.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { findTestPython } from '../../testing/test-python.ts'
import { LocalNode } from './local-node.ts'
import { readRunFiles } from './runs/run-directory.ts'
import { CAN_FORK } from './warm/warm-pool.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const DEMO = aProjectName('demo')

const resourcesDirectory = resolve('resources')
const pythonPath = findTestPython()
const READY = { state: 'ready', start: { mode: CAN_FORK ? 'warm' : 'cold' } }
const WAIT = { timeout: 60_000, interval: 50 }
const closings: (() => Promise<void>)[] = []

afterEach(() => closeAll(closings))

async function closeAll(open: (() => Promise<void>)[]): Promise<void> {
  for (const close of open.splice(0).reverse()) await close()
}

async function aPlace(after = closings) {
  const directory = await makeTemporaryDirectory()
  after.push(directory.remove)
  const touchFile = join(directory.path, 'touched')
  const eggs: Record<string, string> = {}
  const addEgg = async (version: string, bytes: Uint8Array) => {
    await mkdir(join(directory.path, 'eggs'), { recursive: true })
    await writeFile((eggs[version] = join(directory.path, 'eggs', `demo-${version}.egg`)), bytes)
    return eggs[version]
  }
  await addEgg('1', await buildEggFromFolder(join(resourcesDirectory, 'demo')))
  const open = async (slots = 4) => {
    lendLearnedModules(join(directory.path, 'local'))
    const node = await LocalNode.open({
      directory: join(directory.path, 'local'),
      resourcesDirectory,
      slots: () => slots,
      pythonPath,
      source: async (_project, version) => (eggs[version] ? { egg: eggs[version] } : null),
      clock: systemClock,
      logger: silentLogger
    })
    after.push(async () => {
      await node.stopAll()
      await node.close()
      keepLearnedModules(join(directory.path, 'local'))
    })
    return node
  }
  const touched = async () => (await readFile(touchFile, 'utf8').catch(() => '')).split('\n').filter(Boolean).sort()
  const aRequest = (spider: string, over: Partial<ScheduleRequest> = {}): ScheduleRequest => ({
    project: DEMO,
    version: aVersionName('1'),
    spider,
    jobid: spider,
    settings: { TOUCH_FILE: touchFile },
    args: {},
    priority: 0,
    isVersionAsked: true,
    secretNames: [],
    limits: null,
    ...over
  })
  return { directory: directory.path, touchFile, eggs, addEgg, open, touched, aRequest }
}

async function untilFinished(node: LocalNode, jobid: string): Promise<SeenJob> {
  return vi.waitFor(async () => {
    const job = (await node.listJobs()).finished.find((one) => one.jobid === jobid)
    expect(job).toBeDefined()
    return job!
  }, WAIT)
}

async function untilWarm(node: LocalNode): Promise<void> {
  await vi.waitFor(() => expect(node.python.state()).toMatchObject(READY), WAIT)
}

async function pidsOf(script: string, dataDirectory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))
  return pids.filter((_, at) => [script, dataDirectory].every((words) => commands[at]!.includes(words))).map(Number)
}

async function readWhole(node: LocalNode, spider: string, jobid = spider): Promise<string> {
  const run = { project: aProjectName('demo'), spider, jobid }
  const range = await node.readLog(run, { offset: -1_000_000, limitBytes: 1_000_000 })
  return Buffer.from(range!.bytes).toString()
}

async function untilLogged(node: LocalNode, spider: string, words: string, jobid = spider) {
  await vi.waitFor(async () => {
    const range = await node.readLog(
      { project: aProjectName('demo'), spider, jobid },
      { offset: 0, limitBytes: 1_000_000 }
    )
    expect(Buffer.from(range?.bytes ?? []).toString()).toContain(words)
  }, WAIT)
}

// Opening a node starts two Pythons that import Scrapy, so tests that do not change the node share one.
describe('a local node', () => {
  const after: (() => Promise<void>)[] = []
  let t: Awaited<ReturnType<typeof aPlace>>
  let node: LocalNode

  beforeAll(async () => {
    t = await aPlace(after)
    node = await t.open()
    await untilWarm(node)
  })
  afterAll(() => closeAll(after))

  test('runs the demo spiders with the expected items, stats and exit codes', async () => {
    expect(await node.listSpidersOfEgg(t.eggs['1']!, aProjectName('demo'))).toEqual([
      'broken',
      'prices',
      'quotes',
      'slow'
    ])
    await node.schedule(t.aRequest('quotes', { args: { pages: '3', delay: '0.05' } }))
    await node.schedule(t.aRequest('prices', { args: { delay: '0.05' } }))
    await node.schedule(t.aRequest('broken'))
    expect((await untilFinished(node, 'quotes')).exit).toMatchObject({ code: 0, signal: null })
    expect((await untilFinished(node, 'prices')).exit).toMatchObject({ code: 0, signal: null })
    expect((await untilFinished(node, 'broken')).exit).toMatchObject({ code: 1, signal: null })

    expect(await readWhole(node, 'quotes')).toMatch(/'item_scraped_count': 15,[^]*Spider closed \(finished\)/)
    expect(await readWhole(node, 'prices')).toMatch(/ValueError: could not convert[^]*'finish_reason': 'finished'/)
    expect(await readWhole(node, 'broken')).toContain('RuntimeError: This spider is broken on purpose')
    const items = await readFile(join(t.directory, 'local/items/demo/quotes/quotes.jl'), 'utf8')
    expect(
      items
        .trim()
        .split('\n')
        .map((line) => Object.keys(JSON.parse(line)))
    ).toHaveLength(15)
    expect(await t.touched()).toEqual(['broken', 'prices', 'quotes'])
    expect(await node.daemonStatus()).toMatchObject({ pending: 0, running: 0, finished: 3 })
  })

  test('lets a spider close its files after INT, and emits events for start and end', async () => {
    let changes = 0
    node.events.on('runs', () => changes++)
    const parked = await vi.waitFor(async () => {
      const pids = await pidsOf('parking.py', t.directory)
      expect(pids).toHaveLength(CAN_FORK ? 2 : 0)
      return pids
    }, WAIT)
    await node.schedule(t.aRequest('slow'))
    await untilLogged(node, 'slow', 'Tick 2')
    expect(node.runningCount()).toBe(1)
    const running = (await node.listJobs()).running[0]!
    expect(running).toMatchObject({ jobid: 'slow', exit: null, endTime: null })
    if (CAN_FORK) expect(parked).toContain(running.pid)
    else expect(running.pid).toBeGreaterThan(1)
    expect(running.startTime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
    const before = changes
    expect(await node.cancel({ project: aProjectName('demo'), jobid: 'slow', signal: 'INT' })).toEqual({
      wasState: 'running'
    })
    expect((await untilFinished(node, 'slow')).exit).toMatchObject({ code: 0, signal: null })
    expect(await readWhole(node, 'slow')).toContain("'finish_reason': 'shutdown'")
    expect(changes).toBe(before + 1)
  })

  test('prevents a spider by a cancel before it has started, and interrupts it by a later one', async () => {
    const { finished } = await node.daemonStatus()
    const cancel = (jobid: string) => node.cancel({ project: aProjectName('demo'), jobid, signal: 'INT' })
    const runs = join(t.directory, 'local', 'runs')
    const prevented: string[] = []
    let interrupted = 0
    for (let index = 0; index < 5; index += 1) {
      const jobid = `early-${index}`
      await node.schedule(t.aRequest('slow', { jobid }))
      // A warm start takes only milliseconds. On a busy machine, even the first cancellation can come after it.
      await new Promise((resolve) => void setTimeout(resolve, index * 3))
      const { wasState } = await cancel(jobid)
      const log = await node.readLog(t.aRequest('slow', { jobid }), { offset: 0, limitBytes: 9 })
      if (wasState === 'pending') {
        expect(log).toBeNull()
        prevented.push(jobid)
      } else {
        interrupted += 1
        await untilFinished(node, jobid)
      }
    }
    const after = await node.daemonStatus()
    expect(after).toMatchObject({ pending: 0, running: 0, finished: finished + interrupted })
    const left = async () => (await readdir(runs)).filter((name) => prevented.includes(name))
    await vi.waitFor(async () => expect(await left()).toEqual([]), WAIT)
  })

  test('refuses an unknown version, an unknown spider, and names that lead elsewhere', async () => {
    const refused = (nodeMessage: string) => ({
      kind: 'refused',
      delivered: 'no',
      nodeMessage: expect.stringContaining(nodeMessage)
    })
    const runsBefore = await readdir(join(t.directory, 'local', 'runs'))
    await expect(node.schedule(t.aRequest('quotes', { version: aVersionName('9') }))).rejects.toMatchObject(
      refused("version '9' not found")
    )
    for (const over of [
      { project: aProjectName('..') },
      { spider: 'a/../../b' },
      { jobid: '../x' },
      { jobid: '' },
      { project: aProjectName('') }
    ]) {
      await expect(node.schedule(t.aRequest('quotes', over))).rejects.toMatchObject(refused(Object.keys(over)[0]!))
      const run = { project: aProjectName('demo'), spider: 'quotes', jobid: 'x', ...over }
      await expect(node.readLog(run, { offset: 0, limitBytes: 10 })).rejects.toMatchObject({ kind: 'refused' })
    }
    expect(
      await node.readLog({ project: aProjectName('demo'), spider: 'quotes', jobid: 'x' }, { offset: 0, limitBytes: 10 })
    ).toBeNull()
    await node.schedule(t.aRequest('nothing'))
    expect((await untilFinished(node, 'nothing')).exit).toMatchObject({ code: 1 })
    expect(await readWhole(node, 'nothing')).toContain("KeyError: 'Spider not found: nothing'")
    expect(await readdir(join(t.directory, 'local', 'runs'))).toEqual([...runsBefore, 'nothing'].sort())
  })

  test('reports an egg that cannot be imported, or never finishes importing, with its last output', async () => {
    const eggWith = async (version: string, code: string) => {
      const files = {
        'scrapy.cfg': '[settings]\ndefault = bad.settings\n',
        'bad/__init__.py': '',
        'bad/settings.py': 'SPIDER_MODULES = ["bad.spiders"]\n',
        'bad/spiders.py': code
      }
      return t.addEgg(
        version,
        await buildEgg(Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })))
      )
    }
    await expect(
      node.listSpidersOfEgg(await eggWith('2', 'import no_such_module\n'), aProjectName('demo'))
    ).rejects.toMatchObject({
      code: 'EGG_IMPORT_FAILED',
      message: expect.stringMatching(/cannot be imported[^]*ModuleNotFoundError: No module named 'no_such_module'$/)
    })
    const noisy = await eggWith('3', 'import os\nprint("noise")\nos.write(1, b"more noise")\n')
    expect(await node.listSpidersOfEgg(noisy, aProjectName('demo'))).toEqual([])
    for (const [version, code, words] of [
      ['7', 'import sys\nsys.exit(3)\n', 'it ended the process with exit code 3.'],
      ['8', 'import os\nos._exit(0)\n', 'it ended the process with exit code 0.'],
      ['9', 'import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n', 'the process was killed by SIGSEGV.']
    ] as const) {
      const sentence = `The code in the egg cannot be imported: ${words}`
      const failure = await node
        .listSpidersOfEgg(await eggWith(version, code), aProjectName('demo'))
        .catch((one) => one)
      expect(failure).toMatchObject({ code: 'EGG_IMPORT_FAILED', message: expect.stringContaining(sentence) })
      // scrapyd-deploy shows this line.
      expect(failure.data.stderr.split('\n').at(-1)).toBe(sentence)
    }
    const endless = await eggWith('4', 'import time\ntime.sleep(60)\n')
    const abort = AbortSignal.timeout(1500)
    await expect(node.listSpidersOfEgg(endless, aProjectName('demo'), abort)).rejects.toMatchObject({
      name: 'TimeoutError'
    })
  })

  test('finds data files and metadata of an egg as in an installed package', async () => {
    const spider = `
import importlib.metadata, importlib.resources, os, pkg_resources, pkgutil, scrapy

class Look(scrapy.Spider):
    name = "look"
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.logger.info("found %s %s %s %s %s %s %s %s" % (
            pkgutil.get_data("looks", "data.txt").decode(),
            importlib.resources.files("looks").joinpath("data.txt").read_text(),
            pkg_resources.resource_string("looks", "data.txt").decode(),
            importlib.metadata.version("demo"),
            pkg_resources.get_distribution("demo").version,
            os.environ["SCRAPY_PROJECT"], os.environ["SCRAPYD_EGG_VERSION"], os.environ["OF_THE_JOB"]))
`
    const files = {
      'scrapy.cfg': '[settings]\ndefault = looks.settings\n',
      'looks/__init__.py': '',
      'looks/data.txt': 'data',
      'looks/settings.py': 'SPIDER_MODULES = ["looks.spiders"]\n',
      'looks/spiders.py': spider
    }
    const parts = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
    await t.addEgg('5', await buildEgg(parts, { project: aProjectName('demo'), version: aVersionName('5') }))
    await node.schedule(t.aRequest('look', { version: aVersionName('5'), env: { OF_THE_JOB: 'tulip' } }))
    await untilFinished(node, 'look')
    expect(await readWhole(node, 'look')).toContain('found data data data 5 5 demo 5 tulip')
  })

  test('keeps the output of a successful run without its secrets, and puts that of a failed run into its log', async () => {
    const spider = `
import scrapy

class Talk(scrapy.Spider):
    name = "talk"
    async def start(self):
        print("printed", self.word, "x" * int(self.more))
        if self.fails == "yes":
            raise SystemExit(4)
        self.crawler.signals.connect(self.close_with_word, scrapy.signals.spider_idle)
        return
        yield
    def close_with_word(self):
        raise scrapy.exceptions.CloseSpider("word " + self.word)
`
    const files = {
      'scrapy.cfg': '[settings]\ndefault = talks.settings\n',
      'talks/__init__.py': '',
      'talks/settings.py': 'SPIDER_MODULES = ["talks.spiders"]\n',
      'talks/spiders.py': spider
    }
    const parts = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
    await t.addEgg('10', await buildEgg(parts, { project: aProjectName('demo'), version: aVersionName('10') }))
    let ended: SeenExit | null = null
    const printedBy = async (jobid: string, over: { args?: object; secretNames?: string[] }) => {
      const args = { word: 'tulip', more: '0', fails: 'no', ...over.args }
      const request = { ...over, args, jobid, version: aVersionName('10') }
      await node.schedule(t.aRequest('talk', request))
      ended = (await untilFinished(node, jobid)).exit
      const run = { project: aProjectName('demo'), spider: 'talk', jobid }
      const range = await node.readPrinted(run, { offset: 0, limitBytes: 1_000_000 })
      return range === null ? null : Buffer.from(range.bytes).toString()
    }
    expect(await printedBy('talks', {})).toContain('printed tulip')
    expect(ended).toMatchObject({ finishReason: 'word tulip' })
    const spiders = '🕷'.repeat(190)
    await printedBy('spiders', { args: { word: spiders } })
    expect(ended).toMatchObject({ code: 0, finishReason: `word ${spiders}` })
    // A spider can print this. The run must still end.
    await printedBy('forged', { args: { word: '\nScrapdeck: the spider closed: "\\ud800"\n' + 'x'.repeat(200) } })
    expect(ended).toMatchObject({ code: 0, finishReason: '?' })
    const hidden = await printedBy('hides', { secretNames: ['word'] })
    expect(hidden).toContain('printed')
    expect(hidden).not.toContain('tulip')
    expect(ended).toMatchObject({ code: 0, finishReason: expect.stringMatching(/^word (?!tulip)/) })
    const cut = await printedBy('cut', { args: { word: 'tulip'.repeat(30_000) }, secretNames: ['word'] })
    expect(cut ?? '').not.toContain('tulip')
    expect((await printedBy('long', { args: { more: '200000' } }))!.length).toBe(65_536)
    expect(await printedBy('nothing-of-this', { args: { fails: 'yes' } })).toBeNull()
    const other = { project: aProjectName('other'), spider: 'talk', jobid: 'talks' }
    expect(await node.readPrinted(other, { offset: 0, limitBytes: 10 })).toBeNull()
  })

  test('runs a wheel like an egg, with its metadata and an extra in its entry point', async () => {
    const spider = `
import importlib.metadata, pkg_resources, scrapy

class Look(scrapy.Spider):
    name = "look"
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        versions = importlib.metadata.version("demo"), pkg_resources.get_distribution("demo").version
        self.logger.info("found %s %s" % versions)
`
    const files = {
      'scrapy.cfg': '[settings]\ndefault = looks.settings\n',
      'looks/__init__.py': '',
      'looks/settings.py': 'SPIDER_MODULES = ["looks.spiders"]\n',
      'looks/spiders.py': spider
    }
    const parts = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
    const egg = await buildEgg(parts, { project: aProjectName('demo'), version: aVersionName('6') })
    const entryPoints = '# ours\n[ scrapy ]\nsettings = looks.settings [redis]\n'
    const path = await t.addEgg('6', await asWheel(egg, { entryPoints }))
    expect(await node.listSpidersOfEgg(path, aProjectName('demo'))).toEqual(['look'])
    await node.schedule(t.aRequest('look', { jobid: 'of-a-wheel', version: aVersionName('6') }))
    await untilFinished(node, 'of-a-wheel')
    expect(await readWhole(node, 'look', 'of-a-wheel')).toContain('found 6 6')
  })

  test('stops all runs gracefully, and refuses jobs once it is closed', async () => {
    await node.schedule(t.aRequest('slow', { jobid: 'last' }))
    await untilLogged(node, 'slow', 'Tick 1', 'last')
    await node.stopAll()
    expect(node.runningCount()).toBe(0)
    expect(await readWhole(node, 'slow', 'last')).toContain("'finish_reason': 'shutdown'")
    await node.close()
    await node.close()
    await expect(node.schedule(t.aRequest('quotes'))).rejects.toMatchObject({ kind: 'aborted', delivered: 'no' })
  })
})

test.each(isCore ? ['warm'] : ['cold', 'warm'])(
  'an engine killed with -9 leaves its %s spiders running; the next one adopts them, and none starts twice',
  async (mode) => {
    const t = await aPlace()
    const script = `
    import { LocalNode } from ${JSON.stringify(resolve('src/engine/nodes/local/local-node.ts'))}
    import { systemClock } from ${JSON.stringify(resolve('src/engine/runtime/clock.ts'))}
    import { silentLogger } from ${JSON.stringify(resolve('src/engine/runtime/logger.ts'))}
    const [mode, options, requests] = JSON.parse(process.argv[1])
    const node = await LocalNode.open({
      ...options, slots: () => 2, source: async () => ({ egg: options.egg }), clock: systemClock, logger: silentLogger
    })
    while (mode === 'warm' && node.python.state().start.mode !== mode) await new Promise((resolve) => setTimeout(resolve, 20))
    for (const request of requests) console.log((await node.schedule(request)).jobid)
    setInterval(() => {}, 1000)`
    const options = { directory: join(t.directory, 'local'), resourcesDirectory, pythonPath, egg: t.eggs['1'] }
    const requests = ['one', 'two', 'three', 'four'].map((jobid) =>
      t.aRequest('slow', { jobid, args: { seconds: '3' } })
    )
    const engine = spawn(
      process.execPath,
      ['--input-type=module', '-e', script, JSON.stringify([mode, options, requests])],
      {
        stdio: ['ignore', 'pipe', 'inherit']
      }
    )
    const acknowledged: string[] = []
    for await (const line of createInterface({ input: engine.stdout })) {
      if (acknowledged.push(line) === 4) break
    }
    // Two jobs are running or about to start, and two are waiting, so the kill hits jobs in every state.
    const begun = await vi.waitFor(async () => {
      const jobids = await t.touched()
      expect(jobids).not.toEqual([])
      return jobids
    }, WAIT)
    engine.kill('SIGKILL')
    await once(engine, 'exit')

    const node = await t.open(2)
    const seen = await node.listJobs()
    expect([...seen.pending, ...seen.running, ...seen.finished].map(({ jobid }) => jobid).sort()).toEqual(
      acknowledged.sort()
    )
    expect(seen.running.length).toBeGreaterThan(0)
    for (const jobid of acknowledged) {
      expect((await untilFinished(node, jobid)).exit).toMatchObject({ code: 0, signal: null })
    }
    expect(await t.touched()).toEqual(acknowledged)
    // Warm starts write no launch.json. If the kill interrupted the start of a run, the next engine started that run.
    const files = await Promise.all(begun.map((jobid) => readdir(join(t.directory, 'local/runs', jobid))))
    if (mode === 'warm') expect(files.flat()).not.toContain('launch.json')
    await vi.waitFor(async () => expect(await pidsOf('warm.py', options.directory)).toHaveLength(1), WAIT)
    await expect(node.schedule(t.aRequest('slow', { jobid: 'one' }))).rejects.toMatchObject({
      kind: 'refused',
      delivered: 'no',
      nodeMessage: "job 'one' was already accepted"
    })
  }
)

test.skipIf(isCore)(
  'warm spiders survive when their parent is killed; others start cold until there is a new parent',
  async () => {
    const t = await aPlace()
    const node = await t.open()
    await untilWarm(node)
    await node.schedule(t.aRequest('slow', { args: { seconds: '4' } }))
    await untilLogged(node, 'slow', 'Tick 1')
    const { supervisor } = await readRunFiles(join(t.directory, 'local/runs/slow'))
    const parent = Number((await readFile(`/proc/${supervisor!.pid}/stat`, 'latin1')).split(') ')[1]!.split(' ')[1])
    expect(await readFile(`/proc/${parent}/cmdline`, 'latin1')).toContain('warm.py')
    process.kill(parent, 'SIGKILL')
    await vi.waitFor(() => expect(node.python.state().start.mode).not.toBe('warm'), WAIT)
    await node.schedule(t.aRequest('quotes', { args: { pages: '1', delay: '0' } }))
    expect((await untilFinished(node, 'quotes')).exit).toMatchObject({ code: 0 })
    expect((await untilFinished(node, 'slow')).exit).toMatchObject({ code: 0, signal: null })
    expect(await t.touched()).toEqual(['quotes', 'slow'])
    await untilWarm(node)
  }
)

test('the next engine cleans up the listings of a killed one', async () => {
  const t = await aPlace()
  const left = join(t.directory, 'local', 'listing-Ab12Cd')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'output.txt'), 'of a spider')
  await t.open()
  expect(await readdir(join(t.directory, 'local'))).not.toContain('listing-Ab12Cd')
})
