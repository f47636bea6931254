import { execFile } from 'node:child_process'
import { chmod, readFile, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { WarmPool, type WarmPoolOptions } from './warm-pool.ts'

const WAIT = { timeout: 20_000, interval: 10 }
const closings: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

interface Workplace {
  clock: FakeClock
  pool: WarmPool
  /** Replaces Python with a shell script that prints the given lines and then reads its input. */
  aPython: (name: string, script: string) => Promise<string>
  until: (python: string, mode: string) => Promise<void>
  start: (python: string) => Promise<boolean>
  events: string[]
}

async function aWorkplace(chosen: Partial<WarmPoolOptions> = {}): Promise<Workplace> {
  const directory = await makeTemporaryDirectory()
  const clock = createFakeClock()
  const place = { dataDirectory: directory.path, resourcesDirectory: '/nowhere' }
  const pool = new WarmPool({ ...place, ...chosen, clock, logger: silentLogger, onChange() {} })
  closings.push(directory.remove, () => pool.close())
  const events: string[] = []
  return {
    clock,
    pool,
    events,
    async aPython(name, script) {
      const path = join(directory.path, name)
      await writeFile(path, `#!/bin/sh\n${script}\n`)
      await chmod(path, 0o755)
      return path
    },
    until: (python, mode) => vi.waitFor(() => expect(pool.mode(python).mode).toBe(mode), WAIT),
    start(python) {
      const launch = {
        id: 'job',
        python,
        project: aProjectName('p'),
        spider: 's',
        arguments: [],
        source: { egg: '' },
        environment: {},
        workingDirectory: '',
        logFile: '',
        directories: [],
        secrets: [],
        resourceLimits: null
      }
      const note = (name: string) => () => void events.push(name)
      const noted = { child: note('child'), exit: note('exit'), supervisorEnded: note('gone') }
      return pool.start({ do: 'start', directory: '', launch }, noted)
    }
  }
}

const READY = `echo '{"event":"ready","watched":{}}'`
const DEAF = `${READY}\nexec cat >/dev/null`
/** A script that takes one request with the number 1, and reports a run from its start to its end. */
const ANSWERS = `${READY}
read -r request
echo '{"event":"started","id":"1"}'
echo 'a library prints'
echo '{"event":"child","id":"1","pid":77,"startTime":"t","atMs":5}'
echo '{"event":"exit","id":"1","code":0,"signal":null,"atMs":6,"cpuSeconds":1,"maxRssBytes":2}'
echo '{"event":"gone","id":"1"}'
exec cat >/dev/null`

test('the first start is cold and creates a parent; the next is warm and passes its run to it', async () => {
  const { pool, aPython, until, start, events } = await aWorkplace()
  const python = await aPython('python', ANSWERS)
  expect(pool.mode(python).mode).toBe('cold')
  expect(await start(python)).toBe(false)
  await until(python, 'warm')
  expect(await start(python)).toBe(true)
  await vi.waitFor(() => expect(events).toEqual(['child', 'exit', 'gone']), WAIT)
})

test('a parent that does not respond is ended; the start is cold, and the next parent comes after a wait', async () => {
  const { clock, pool, aPython, until, start } = await aWorkplace()
  const python = await aPython('python', DEAF)
  pool.prepare(python)
  await until(python, 'warm')
  const started = start(python)
  await vi.waitFor(async () => {
    await clock.advanceBy(5_000)
    expect(pool.mode(python)).toMatchObject({ mode: 'cold', text: expect.stringContaining('did not answer') })
  }, WAIT)
  expect(await started).toBe(false)
  await clock.advanceBy(1_000)
  await until(python, 'warm')
})

test('a parent that fails to start is tried again, less and less often, and says why', async () => {
  const { clock, pool, aPython, until } = await aWorkplace()
  const fails = `echo tried >> "$0.tries"; echo '{"event":"failed","reason":"ImportError: no lxml"}'; exit 1`
  const python = await aPython('python', fails)
  const untilTried = (times: number) =>
    vi.waitFor(async () => expect(await readFile(`${python}.tries`, 'utf8')).toBe('tried\n'.repeat(times)), WAIT)
  pool.prepare(python)
  for (const [before, backoffMs] of [1_000, 2_000, 4_000].entries()) {
    await untilTried(before + 1)
    await until(python, 'cold')
    expect(pool.mode(python).text).toContain('ImportError: no lxml')
    await clock.advanceBy(backoffMs - 1)
    expect(pool.mode(python).mode).toBe('cold')
    await clock.advanceBy(1)
  }
  await untilTried(4)
})

test('a fifth Python gets a parent, and the least recently used parent ends', async () => {
  const { clock, pool, aPython, until } = await aWorkplace()
  const pythons = await Promise.all([0, 1, 2, 3, 4].map((name) => aPython(`python-${name}`, DEAF)))
  for (const python of pythons.slice(0, 4)) {
    pool.prepare(python)
    await until(python, 'warm')
    await clock.advanceBy(10)
  }
  pool.prepare(pythons[0]!)
  pool.prepare(pythons[4]!)
  await until(pythons[4]!, 'warm')
  expect(pythons.map((python) => pool.mode(python).mode)).toEqual(['warm', 'cold', 'warm', 'warm', 'warm'])
})

test('a parent whose packages have changed is replaced before its next use', async () => {
  const { pool, aPython, until, start, clock } = await aWorkplace()
  const python = await aPython('python', '')
  await utimes(python, 1, 1)
  const watched = JSON.stringify({ [python]: '1000000000' })
  await aPython('python', `echo '{"event":"ready","watched":${watched}}'\nexec cat >/dev/null`)
  await utimes(python, 1, 1)
  pool.prepare(python)
  await until(python, 'warm')
  const taken = start(python)
  await vi.waitFor(async () => {
    await clock.advanceBy(5_000)
    expect(pool.mode(python).mode).toBe('cold')
  }, WAIT)
  expect(await taken).toBe(false)
  await clock.advanceBy(1_000)
  await until(python, 'warm')
  // Simulates the installation of a package.
  await utimes(python, 2, 2)
  expect(await start(python)).toBe(false)
  expect(pool.mode(python).mode).toBe('warming')
})

test('closing finishes even if nothing else keeps the engine alive', async () => {
  const { aPython } = await aWorkplace()
  const python = await aPython('python', DEAF)
  const script = `
    import { WarmPool } from ${JSON.stringify(resolve('src/engine/nodes/local/warm/warm-pool.ts'))}
    import { systemClock as clock } from ${JSON.stringify(resolve('src/engine/runtime/clock.ts'))}
    import { silentLogger as logger } from ${JSON.stringify(resolve('src/engine/runtime/logger.ts'))}
    const [python, dataDirectory] = process.argv.slice(1)
    const pool = new WarmPool({ dataDirectory, resourcesDirectory: '/nowhere', clock, logger, onChange() {} })
    pool.prepare(python)
    while (pool.mode(python).mode !== 'warm') await new Promise((resolve) => setTimeout(resolve, 5))
    await pool.close()
    console.log('closed')`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    script,
    python,
    join(python, '..')
  ])
  expect(stdout).toBe('closed\n')
})

test.each([
  [{}, ['start', 'park 1']],
  [{ mostParked: 3 }, ['start', 'park 3']],
  [{ mostParked: 0 }, ['start']]
])('with %j, a parent that has started a run is asked to keep children parked: %j', async (chosen, told) => {
  const memory = { freeBytes: 2 ** 34, totalBytes: 2 ** 34 }
  const { clock, pool, aPython, until, start } = await aWorkplace({
    ...chosen,
    freeSlots: () => 8,
    readFreeMemory: async () => memory
  })
  const python = await aPython('python', `${READY}\necho '{"event":"started","id":"1"}'\nexec cat > "$0.requests"`)
  const requests = async () => (await readFile(`${python}.requests`, 'utf8').catch(() => '')).trim().split('\n')
  pool.prepare(python)
  await until(python, 'warm')
  pool.slotsChanged()
  await clock.advanceBy(60_000)
  const isStarted = start(python)
  await vi.waitFor(async () => expect((await requests())[0]).toContain('start'), WAIT)
  pool.slotsChanged()
  await clock.advanceBy(150)
  await vi.waitFor(async () => {
    const seen = (await requests()).map((line) => JSON.parse(line) as { do: string; count?: number })
    expect(seen.map((one) => (one.count === undefined ? one.do : `${one.do} ${one.count}`))).toEqual(told)
  }, WAIT)
  await pool.close()
  await isStarted
})

test('without warm starts no parent is created, and the node says why', async () => {
  const { pool, aPython, start } = await aWorkplace({ isOn: false })
  const python = await aPython('python', DEAF)
  expect(await start(python)).toBe(false)
  expect(pool.mode(python)).toMatchObject({
    mode: 'cold',
    text: expect.stringContaining('turned off in the configuration')
  })
})

test('the number of parents is limited: the least recently used one ends', async () => {
  const { pool, clock, aPython, until } = await aWorkplace({ mostParents: 1 })
  const [first, second] = [await aPython('first', DEAF), await aPython('second', DEAF)]
  pool.prepare(first)
  await until(first, 'warm')
  await clock.advanceBy(1)
  pool.prepare(second)
  await until(second, 'warm')
  expect(pool.mode(first).mode).toBe('cold')
})

test('a start waits for a loading parent for as long as the operator chose', async () => {
  const { clock, aPython, start, events } = await aWorkplace({ waitMs: 2_000 })
  const python = await aPython('python', ANSWERS)
  expect(await start(python)).toBe(true)
  await vi.waitFor(() => expect(events).toEqual(['child', 'exit', 'gone']), WAIT)
  const slow = await aPython('slow', 'exec cat >/dev/null')
  const started = start(slow)
  await clock.advanceBy(2_000)
  expect(await started).toBe(false)
})
