import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEngine, type Engine, type EngineOptions } from '../index.ts'
import { lockDirectory } from '../storage/sqlite/directory-lock.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../testing/temporary-directory.ts'
import { OWNER } from '../access/principal.ts'
import { STARTS } from './starts.ts'
import { isCore } from '../../../scripts/test-length.mjs'

const RESOURCES = join(import.meta.dirname, '..', '..', '..', 'resources')

let directory: TemporaryDirectory
let clock: FakeClock
let workers: Worker[]
const onWorker = (message: unknown) => void workers.push((message as { worker: Worker }).worker)

beforeEach(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  clock = createFakeClock()
  workers = []
  subscribe('worker_threads', onWorker)
})
afterEach(async () => {
  vi.restoreAllMocks()
  unsubscribe('worker_threads', onWorker)
  await directory.remove()
})

function start(): Promise<Engine> {
  return createEngine({
    ...optionsOf(directory),
    seams: { clock, localNode: null, createNodeClient: () => new FakeNode(clock, { slots: 2 }) }
  })
}

async function startWithThreads(): Promise<Engine> {
  const module = join(directory.path, 'plugin.mjs')
  await writeFile(module, 'export default () => ({ nodeDown() {} })')
  const plugin = { name: 'p', module, options: {}, timeoutMs: 5_000, memoryMb: 64, onFailure: 'send' as const }
  return createEngine({ ...optionsOf(directory), localSlots: 0, plugins: [plugin] })
}

const optionsOf = ({ path }: TemporaryDirectory): EngineOptions => ({
  dataDirectory: path,
  host: 'service',
  resourcesDirectory: RESOURCES,
  scrapdeckVersion: 'test'
})

function onEachPart(act: (index: number, close: () => unknown) => (() => unknown) | undefined): () => number {
  let count = 0
  const adopt = AsyncDisposableStack.prototype.adopt
  vi.spyOn(AsyncDisposableStack.prototype, 'adopt').mockImplementation(function (
    this: AsyncDisposableStack,
    part: unknown,
    close: (part: unknown) => unknown
  ) {
    const index = count++
    let failure: unknown = null
    let closing: (() => unknown) | undefined
    try {
      closing = act(index, () => close(part))
    } catch (error) {
      failure = error
    }
    adopt.call(
      this,
      part,
      closing === undefined ? async () => void (await close(part)) : async () => void (await closing())
    )
    if (failure !== null) throw failure as Error
    return part
  } as typeof adopt)
  return () => count
}

function expectNothingLeft(): void {
  lockDirectory(directory.path).release()
  expect(clock.timerCount()).toBe(0)
  expect(workers.map(({ threadId }) => threadId).filter((id) => id !== -1)).toEqual([])
}

const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => {
      throw new Error('nothing failed')
    },
    (error: Error) => error
  )

async function countParts(): Promise<number> {
  const parts = onEachPart(() => undefined)
  await (await start()).stop()
  vi.restoreAllMocks()
  return parts()
}

describe('a start that fails', () => {
  it.skipIf(isCore)('while any part opens releases the directory and leaves nothing running', async () => {
    const parts = await countParts()
    expect(parts).toBeGreaterThan(10)
    for (let failing = 0; failing < parts; failing += 1) {
      const opened = onEachPart((index) => {
        if (index === failing) throw new Error(`part ${failing} does not open`)
        return undefined
      })
      expect((await failureOf(start())).message).toBe(`part ${failing} does not open`)
      expect(opened()).toBe(failing + 1)
      vi.restoreAllMocks()
      // When the first part is opened, there is no data directory yet.
      if (failing > 0) expectNothingLeft()
    }
  })

  it.each(STARTS.map((entry) => ({ entry, part: entry.part })))(
    'when $part has been started in part, releases the directory and leaves nothing running',
    async ({ entry, part }) => {
      const first = await start()
      await first.stop()
      const { start: startPart } = entry
      vi.spyOn(entry, 'start').mockImplementation(async (wings) => {
        await startPart(wings)
        throw new Error(`${part} does not start`)
      })
      expect((await failureOf(start())).message).toBe(`${part} does not start`)
      expectNothingLeft()
      vi.restoreAllMocks()
      await (await start()).stop()
      expectNothingLeft()
    }
  )

  it('ends the threads of the store and of plugins, and lets the next engine start', async () => {
    vi.spyOn(STARTS.at(-1)!, 'start').mockRejectedValue(new Error('does not start'))
    expect((await failureOf(startWithThreads())).message).toBe('does not start')
    expect(workers).toHaveLength(2)
    expectNothingLeft()
    vi.restoreAllMocks()
    await (await startWithThreads()).stop()
    expectNothingLeft()
  })

  it('releases the directory if the database opens but a file beside it cannot be opened', async () => {
    await mkdir(join(directory.path, 'secret.key'))
    await failureOf(startWithThreads())
    expect(workers).toHaveLength(2)
    expectNothingLeft()
  })

  it('and then fails to close a part reports every error, the first one first', async () => {
    onEachPart((index, close) =>
      index < 2
        ? async () => {
            await close()
            throw new Error(`part ${index} does not close`)
          }
        : undefined
    )
    vi.spyOn(STARTS[3]!, 'start').mockRejectedValue(new Error('does not start'))
    const { errors } = (await failureOf(start())) as AggregateError
    expect(errors.map((error: Error) => error.message)).toEqual([
      'does not start',
      'part 1 does not close',
      'part 0 does not close'
    ])
    expectNothingLeft()
  })
})

describe('a stop', () => {
  it('leaves no timer of a working part: an observed node, a schedule that waits for its time', async () => {
    const engine = await start()
    const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
    await client.nodes.add({ url: 'http://127.0.0.1:9/', name: 'berlin' })
    await client.schedules.create({
      name: 'often',
      zone: 'UTC',
      rules: [{ kind: 'cron', expression: '0 * * * *' }],
      jobs: [{ project: 'shop', spiders: ['prices'] }]
    })
    await clock.advanceBy(5_000)
    await engine.stop()
    expectNothingLeft()
  })

  it('that fails at any one part closes all others, releases the directory and rejects, called once or twice', async () => {
    const parts = await countParts()
    for (let failing = 0; failing < parts; failing += 1) {
      onEachPart((index, close) =>
        index !== failing
          ? undefined
          : async () => {
              await close()
              throw new Error(`part ${failing} does not close`)
            }
      )
      const engine = await start()
      const message = `part ${failing} does not close`
      expect([(await failureOf(engine.stop())).message, (await failureOf(engine.stop())).message]).toEqual([
        message,
        message
      ])
      vi.restoreAllMocks()
      expectNothingLeft()
    }
  })

  it('that fails at every part reports all errors in the order in which they happened', async () => {
    const parts = onEachPart((index, close) => async () => {
      await close()
      throw new Error(String(index))
    })
    const { errors } = (await failureOf((await start()).stop())) as AggregateError
    const indexes = Array.from({ length: parts() }, (_, index) => String(index))
    expect(errors.map((error: Error) => error.message)).toEqual(indexes.reverse())
    expectNothingLeft()
  })

  it('ends the threads, and can be called twice', async () => {
    const engine = await startWithThreads()
    await Promise.all([engine.stop(), engine.stop()])
    await engine.stop()
    expect(workers).toHaveLength(2)
    expectNothingLeft()
  })
})
