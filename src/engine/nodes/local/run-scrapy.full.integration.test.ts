import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { WITHOUT_FILES } from '../../access/run-rights.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { keepLearnedModules, lendLearnedModules } from '../../testing/learned-modules.ts'
import { aSpiderEgg } from '../../testing/spider-egg.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { findTestPython } from '../../testing/test-python.ts'
import { LocalNode } from './local-node.ts'
import { CAN_FORK } from './warm/warm-pool.ts'

const SPIDERS = `
import glob, json, os, sys
import scrapy

class Reader(scrapy.Spider):
    "Fetches what it is given, as spiders do that take their addresses as arguments."
    name = "reader"
    custom_settings = {"ROBOTSTXT_OBEY": False}

    async def start(self):
        for at, url in enumerate(json.loads(self.urls)):
            try:
                yield scrapy.Request(url, self.parse, errback=self.failed, dont_filter=True, cb_kwargs={"at": at})
            except ValueError as error:
                self.logger.info("no address: %s", error)

    def parse(self, response, at):
        yield {"at": at, "text": response.text}

    def failed(self, failure):
        self.logger.info("not fetched: %s", failure.value)

class Own(Reader):
    "Its project has a handler of its own for an address that it chose."
    name = "own"
    custom_settings = {"DOWNLOAD_HANDLERS": {"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"}}

class Counting(scrapy.Spider):
    name = "counting"

    async def start(self):
        for number in range(5):
            yield {"number": number}

class Feeding(Counting):
    name = "feeding"
    custom_settings = {"FEEDS": {"own.json": {"format": "json"}}}

class Batching(Counting):
    name = "batching"
    custom_settings = {"FEED_EXPORT_BATCH_ITEM_COUNT": 2, "FEEDS": {"batch-%(batch_id)d.json": {"format": "json"}}}

class Unnumbered(Counting):
    name = "unnumbered"
    custom_settings = {"FEED_EXPORT_BATCH_ITEM_COUNT": 2}

class Lost(Counting):
    name = "lost"
    custom_settings = {"FEEDS": {"lost.odd": {"format": "odd"}}}

class Closed(Counting):
    name = "closed"
    custom_settings = {"FEEDS": {"/proc/none/closed.json": {"format": "json"}}}

class Watched(scrapy.Spider):
    "Is there for a while; says whether the server is."
    name = "watched"

    async def start(self):
        import asyncio
        names = [name for name in ("scrapy.extensions.remote_control", "aiohttp") if name in sys.modules]
        self.logger.info("LOADED %s", json.dumps(names))
        open(self.begun, "w").close()
        while not os.path.exists(self.gate):
            await asyncio.sleep(0.02)
        yield {"at": 0}

class Controlled(Watched):
    name = "controlled"
    custom_settings = {"REMOTE_CONTROL_ENABLED": True, "EXTENSIONS": {"scrapy.extensions.remote_control.RemoteControl": 0}}

class Hostile(scrapy.Spider):
    "Looks for tokens where Scrapy writes them, of any run of this user."
    name = "hostile"

    async def start(self):
        yield {"tokens": glob.glob(os.path.join(os.environ["XDG_STATE_HOME"], "**", "*.json"), recursive=True)}
`
const SHOP = aProjectName('shop')
const WAIT = { timeout: 60_000, interval: 50 }
/** A variable that forces a cold start, because it takes effect only when Python starts. */
const COLD = { PYTHONHASHSEED: '1' }

let place: TemporaryDirectory
let node: LocalNode
let secretFile: string
let runs = 0

beforeAll(async () => {
  place = await makeTemporaryDirectory()
  const egg = join(place.path, 'shop.egg')
  await writeFile(egg, Buffer.from(await (await aSpiderEgg(SPIDERS)).arrayBuffer()))
  secretFile = join(place.path, 'secret.txt')
  await writeFile(secretFile, 'the secret of the node')
  await mkdir(join(place.path, 'state'))
  lendLearnedModules(join(place.path, 'local'))
  node = await LocalNode.open({
    directory: join(place.path, 'local'),
    resourcesDirectory: resolve('resources'),
    slots: () => 4,
    pythonPath: findTestPython(),
    source: async () => ({ egg }),
    clock: systemClock,
    logger: silentLogger
  })
  const ready = { state: 'ready', start: { mode: CAN_FORK ? 'warm' : 'cold' } }
  await vi.waitFor(() => expect(node.python.state()).toMatchObject(ready), WAIT)
}, 120_000)

afterAll(async () => {
  await node?.stopAll()
  await node?.close()
  keepLearnedModules(join(place.path, 'local'))
  await place.remove()
})

interface Given {
  settings?: Record<string, string>
  args?: Record<string, string>
  env?: Record<string, string>
}

async function start(spider: string, { settings = {}, args = {}, env = {} }: Given = {}): Promise<string> {
  const jobid = `${spider}-${++runs}`
  await node.schedule({
    project: SHOP,
    version: aVersionName('1'),
    spider,
    jobid,
    settings,
    args,
    priority: 0,
    limits: null,
    isVersionAsked: false,
    secretNames: [],
    env: { XDG_STATE_HOME: join(place.path, 'state'), ...env }
  })
  return jobid
}

async function ended(spider: string, jobid: string) {
  const job = await vi.waitFor(async () => {
    const found = (await node.listJobs()).finished.find((one) => one.jobid === jobid)
    expect(found).toBeDefined()
    return found!
  }, WAIT)
  const range = await node.readLog({ project: SHOP, spider, jobid }, { offset: 0, limitBytes: 1_000_000 })
  const items = await readFile(join(place.path, 'local/items/shop', spider, `${jobid}.jl`), 'utf8').catch(() => '')
  return {
    exit: job.exit,
    log: Buffer.from(range?.bytes ?? []).toString(),
    items: items.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
}

const run = async (spider: string, given?: Given) => ended(spider, await start(spider, given))
const work = (name: string) => join(place.path, 'local/work/shop', name)
const FIVE = [0, 1, 2, 3, 4].map((number) => ({ number }))

/** Spellings that WHATWG, w3lib and Scrapy accept. A check of the text would have to know all of them. */
function spellings(path: string): string[] {
  const { href } = pathToFileURL(path)
  const control = [0, 1, 8, 0x1f, 0x7f, 0x85, 0xa0].map((code) => String.fromCharCode(code))
  const inside = ['\t', '\n', '\r', '\r\n', ...control].flatMap((one) => [
    `fi${one}le://${path}`,
    `file${one}://${path}`,
    `file:${one}//${path}`
  ])
  const around = [' ', '\t', '\n', ...control, '\ufeff', '\u2028'].flatMap((one) => [`${one}${href}`, `${href}${one}`])
  return [
    ...[href, href.toUpperCase().replace(/\/\/.*/, `//${path}`), `FiLe:${path}`, `file:${path}`, `file:/${path}`],
    ...[`file://localhost${path}`, `file:////${path}`, `file:\\\\${path}`, `${href}?x=1`, `${href}#x`],
    ...[`file%3A//${path}`, `%66ile://${path}`, href.replace('secret', '%73ecret'), `ｆile://${path}`],
    ...[`view-source:${href}`, `url:${href}`, `s3://bucket${path}`, `ftp://127.0.0.1:1${path}`, ...inside, ...around]
  ]
}

describe('a run of a user who may not choose code', () => {
  test.each(['warm', 'cold'])('reads no file of its node, however the address is written (%s)', async (how) => {
    // Everything is escaped, because `\\u0066ile` is the same as `file` in JSON.
    const escaped = (text: string) =>
      text.replace(/[^]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const urls = `[${spellings(secretFile).map((url) => `"${escaped(url)}"`)}]`
    const env = how === 'cold' ? COLD : {}
    const [free, limited] = await Promise.all([
      run('reader', { args: { urls }, env }),
      run('reader', { args: { urls }, env, settings: { ...WITHOUT_FILES } })
    ])
    // A user who is allowed to choose code can still read the file with many of these spellings.
    expect(free.items.filter(({ text }) => text === 'the secret of the node').length).toBeGreaterThan(20)
    expect(limited.items).toEqual([])
    expect(limited.exit).toMatchObject({ code: 0 })
    for (const scheme of ['file', 's3', 'ftp']) {
      expect(limited.log).toContain(`Unsupported URL scheme '${scheme}': no handler available for that scheme`)
    }
  })

  test('reads none on a remote node either, which gets the setting in the way Scrapyd passes it to Scrapy', async () => {
    const spider = join(place.path, 'remote.py')
    await writeFile(spider, SPIDERS.slice(0, SPIDERS.indexOf('class Own')))
    const urls = JSON.stringify([`fi\tle://${secretFile}`, 'data:text/plain,mine'])
    const itemsOf = async (...settings: string[]) => {
      const file = join(place.path, `remote-${++runs}.jl`)
      const words = ['-m', 'scrapy', 'runspider', spider, '-a', `urls=${urls}`, '-o', file]
      await promisify(execFile)(findTestPython(), [...words, ...settings.flatMap((one) => ['-s', one])])
      return (await readFile(file, 'utf8')).trim().split('\n').sort()
    }
    const mine = '{"at": 1, "text": "mine"}'
    expect(await itemsOf()).toEqual(['{"at": 0, "text": "the secret of the node"}', mine])
    expect(await itemsOf(...Object.entries(WITHOUT_FILES).map((one) => one.join('=')))).toEqual([mine])
  })

  test('fetches pages and data like any other run, also with handlers that its project configures', async () => {
    const page = JSON.stringify(['data:text/plain,mine'])
    expect((await run('reader', { args: { urls: page }, settings: { ...WITHOUT_FILES } })).items).toEqual([
      { at: 0, text: 'mine' }
    ])
    const urls = JSON.stringify([pathToFileURL(secretFile).href])
    expect((await run('own', { args: { urls }, settings: { ...WITHOUT_FILES } })).items).toHaveLength(1)
  })
})

describe("a project's own feeds", () => {
  test.each([
    ['feeding', {}, 'own.json'],
    ['counting', { FEEDS: '{"asked.json": {"format": "json"}}' }, 'asked.json'],
    ['feeding', { FEEDS: '{"instead.json": {"format": "json"}}' }, 'instead.json']
  ])('work unchanged beside ours: of %s with the settings %o', async (spider, settings, file) => {
    const { items, log } = await run(spider, { settings })
    expect(items).toEqual(FIVE)
    expect(JSON.parse(await readFile(work(file), 'utf8'))).toEqual(FIVE)
    expect(log).not.toContain('cannot be used')
  })

  test('can be split into batches, and our feed has all items', async () => {
    const { items } = await run('batching')
    expect(items).toEqual(FIVE)
    expect((await readdir(work(''))).filter((name) => name.startsWith('batch-')).sort()).toEqual(
      ['batch-1.json', 'batch-2.json', 'batch-3.json'].sort()
    )
  })

  test('can be missing: every item is stored even if the project wants batches', async () => {
    const { items, log } = await run('unnumbered')
    expect(items).toEqual(FIVE)
    expect(log).not.toContain('cannot be used')
  })

  test.each(['lost', 'closed'])(
    'do not affect our feed if they cannot be written, and the job says so: %s',
    async (spider) => {
      const { items, log } = await run(spider)
      expect(items).toEqual(FIVE)
      expect(log).toMatch(spider === 'lost' ? /ERROR: The project's own feeds cannot be used/ : /ERROR.*\n.*Traceback/)
    }
  )
})

describe('the server of Scrapy that executes code', () => {
  test.each(['warm', 'cold'])(
    'is in no run and not even loaded, so that no spider reaches another one through it (%s)',
    async (how) => {
      const [begun, gate] = [join(place.path, `begun-${how}`), join(place.path, `gate-${how}`)]
      const jobid = await start('watched', { args: { begun, gate }, env: how === 'cold' ? COLD : {} })
      await vi.waitFor(() => readFile(begun), WAIT)
      // The settings that enable the server require the permission to choose code. This run also has no server to
      // enable.
      const hostile = await run('hostile', { settings: { REMOTE_CONTROL_ENABLED: 'True' } })
      await writeFile(gate, '')
      const { log } = await ended('watched', jobid)
      expect(hostile.items).toEqual([{ tokens: [] }])
      expect(log).toContain('LOADED []')
      expect(log).not.toContain('RemoteControl')
    }
  )

  test('runs in a project that enables it', async () => {
    const [begun, gate] = [join(place.path, 'begun'), join(place.path, 'gate')]
    const jobid = await start('controlled', { args: { begun, gate } })
    await vi.waitFor(() => readFile(begun), WAIT)
    expect((await run('hostile')).items[0].tokens).toHaveLength(1)
    await writeFile(gate, '')
    expect((await ended('controlled', jobid)).log).toContain('RemoteControl')
  })
})
