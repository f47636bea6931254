import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { SECRET_MASK } from '../shared/contract/index.ts'
import type { Logger } from './runtime/logger.ts'
import { type EngineWithPython, startEngineWithPython } from './testing/engine-with-python.ts'
import { aSpiderEgg } from './testing/spider-egg.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from './testing/temporary-directory.ts'

const WAIT = { timeout: 60_000, interval: 50 }
const SETTING = 'the setting nobody sees "7%"'
const ARGUMENT = 'an argument, näher betrachtet'
/** Parts of the secrets that quoting does not change. */
const TRACES = ['the setting nobody sees', 'näher betrachtet']

const SPIDER = `
import asyncio, hashlib, os
import scrapy

class Tells(scrapy.Spider):
    name = "tells"
    def __init__(self, token=None, **kwargs):
        super().__init__(**kwargs)
        self.token = token
    async def start(self):
        both = self.settings["SHOP_PASSWORD"] + "/" + self.token
        self.logger.info("digest %s" % hashlib.sha256(both.encode()).hexdigest())
        self.logger.info("given away: %s %r" % (self.token, self.settings["SHOP_PASSWORD"]))
        while not os.path.exists(self.settings["STOP_FILE"]):
            await asyncio.sleep(0.1)
        raise RuntimeError("wrong password %s" % self.settings["SHOP_PASSWORD"])
        yield
`

let directory: TemporaryDirectory
let own: EngineWithPython
const logged: string[] = []

afterEach(async () => {
  await own.stop()
  await directory.remove()
})

const logger: Logger = Object.fromEntries(
  ['debug', 'info', 'warn', 'error'].map((level) => [
    level,
    (facts: object, text: string) =>
      logged.push(
        `${text} ${JSON.stringify(facts, (_, value) => (value instanceof Error ? [value.message, value.stack, value.cause] : value))}`
      )
  ])
) as unknown as Logger

/** Returns where other users of the machine, or readers of our files, could find a secret. */
async function whoKnows(pids: string[]): Promise<string[]> {
  const files = await readdir(join(directory.path, 'data'), { recursive: true, withFileTypes: true })
  const paths = [
    ...files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name)),
    ...pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`])
  ]
  const knowing = await Promise.all(
    paths.map(async (path) => {
      const bytes = await readFile(path).catch(() => Buffer.alloc(0))
      return TRACES.some((trace) => bytes.includes(trace)) ? [path] : []
    })
  )
  return knowing.flat()
}

test.runIf(process.platform === 'linux')(
  'secret settings and arguments reach the spider, but no command line, environment, log, response or database',
  async () => {
    directory = await makeTemporaryDirectory()
    await mkdir(join(directory.path, 'data'), { mode: 0o700 })
    own = await startEngineWithPython(join(directory.path, 'data'), { logger })
    const { client, engine } = own
    await vi.waitFor(
      async () =>
        expect((await client.system.status()).python).toMatchObject({ state: 'ready', start: { mode: 'warm' } }),
      WAIT
    )
    await client.projects.upload({
      file: await aSpiderEgg(SPIDER),
      project: 'shop',
      version: '1'
    })
    const feed = await client.events.subscribe({})
    const changes: unknown[] = []
    void (async () => {
      for await (const batch of feed) changes.push(batch)
    })().catch(() => {})
    const STOP_FILE = join(directory.path, 'stop')
    const { jobs } = await client.jobs.run({
      project: 'shop',
      spiders: ['tells'],
      settings: { SHOP_PASSWORD: SETTING, STOP_FILE },
      args: { token: ARGUMENT, page: '1' },
      secretNames: ['SHOP_PASSWORD', 'token']
    })
    const id = jobs[0]!.id
    const log = async () => (await client.logs.read({ jobId: id, offset: 0 }).catch(() => ({ text: '' }))).text
    await vi.waitFor(async () => expect(await log()).toContain('given away'), WAIT)

    expect(await log()).toContain(createHash('sha256').update(`${SETTING}/${ARGUMENT}`).digest('hex'))
    expect(await log()).toMatch(/Overridden settings/)
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const knowing = (await whoKnows(pids)).filter((path) => !/\/runs\/[^/]+\/(spec|launch)\.json$/.test(path))
    expect(knowing).toEqual([])

    await writeFile(STOP_FILE, '')
    await vi.waitFor(async () => expect((await client.jobs.get({ id })).job.state).toBe('ended'), WAIT)
    await vi.waitFor(async () => expect(await whoKnows([])).toEqual([]), WAIT)
    const answers = [
      jobs,
      await client.jobs.get({ id }),
      await client.jobs.list({}),
      await client.nodes.list(),
      await engine.scrapyd.listJobs(null, 100),
      await log(),
      changes,
      logged
    ]
    const text = JSON.stringify(answers)
    for (const trace of TRACES) expect(text).not.toContain(trace)
    expect(text).toContain(SECRET_MASK)
    expect(await log()).toContain('RuntimeError: wrong password ******')
  }
)
