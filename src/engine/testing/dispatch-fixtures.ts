import { expect, test } from 'vitest'
import { aJobId, aNodeId, branded } from '../../shared/testing/ids.ts'
import { plain } from '../../shared/texts/message.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import type { NewJob } from '../model/records.ts'
import type { Store } from '../storage/store.ts'
import { aNewJob } from './builders.ts'
import { type DispatchHarness, startDispatch } from './dispatch-harness.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { FakeNode } from './fake-node.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { openTemporaryStore } from './temporary-store.ts'

export const MINUTE_MS = 60_000
export const onlyOn = (nodeId: string): Pick<NewJob, 'placement'> => ({
  placement: { nodeId: aNodeId(nodeId), tags: [] }
})
const NODE = { slots: 2, eggs: ['shop@1'] }

/**
 * Fixtures belong to one test: `async ({ clock, store, node, other, engine }) => …`. An engine must leave no timer
 * behind.
 */
export const it = test
  .extend('clock', () => createFakeClock())
  .extend('store', async ({ clock }, { onCleanup }) => {
    const { store, remove } = await openTemporaryStore({ clock, inMemory: true })
    onCleanup(remove)
    return store
  })
  .extend('node', ({ clock }) => new FakeNode(clock, NODE))
  .extend('other', ({ clock }) => new FakeNode(clock, NODE))
  .extend('engine', async ({ clock, store }, { onCleanup }) => {
    const directory = await makeTemporaryDirectory({ inMemory: true })
    const engine = new TestedEngine(store, clock, await openFilesystemBlobStore(directory.path))
    onCleanup(async () => {
      await engine.crash()
      await directory.remove()
      expect(clock.timerCount()).toBe(0)
    })
    return engine
  })

export interface DispatchFixtures {
  clock: FakeClock
  store: Store
  node: FakeNode
  other: FakeNode
  engine: TestedEngine
}

/** Runs one engine's dispatch after another over the same store and blobs. */
export class TestedEngine {
  readonly #store: Store
  readonly #clock: FakeClock
  readonly blobs: BlobStore
  #harness: DispatchHarness | null = null

  constructor(store: Store, clock: FakeClock, blobs: BlobStore) {
    this.#store = store
    this.#clock = clock
    this.blobs = blobs
  }

  async start(nodes: Record<string, FakeNode>, over: Partial<Parameters<typeof startDispatch>[0]> = {}): Promise<void> {
    const parts = { store: this.#store, clock: this.#clock, blobs: this.blobs }
    this.#harness = await startDispatch({ ...parts, nodes, ...over })
  }

  async restart(
    nodes: Record<string, FakeNode>,
    over: Partial<Parameters<typeof startDispatch>[0]> = {}
  ): Promise<void> {
    await this.crash()
    await this.start(nodes, over)
  }

  async crash(): Promise<void> {
    await this.#harness?.crash()
    this.#harness = null
  }

  get #alive(): DispatchHarness {
    if (this.#harness === null) throw new Error('No engine is alive: start one')
    return this.#harness
  }

  get dispatch() {
    return this.#alive.dispatch
  }

  get fleet() {
    return this.#alive.fleet
  }

  get live() {
    return this.#alive.live
  }

  get waiting() {
    return this.#alive.waiting
  }

  async enqueue(over: Partial<NewJob> = {}): Promise<string> {
    const entry = { atMs: this.#clock.nowMs(), message: plain('asked'), evidence: {} }
    const job = aNewJob({ version: '1', entry, ...over })
    await this.#store.enqueueJobs([job])
    this.dispatch.wake()
    await this.#clock.advanceBy(0)
    return job.id
  }

  async startRunning(
    nodes: Record<string, FakeNode>,
    over: Partial<NewJob> = {},
    parts: Partial<Parameters<typeof startDispatch>[0]> = {}
  ): Promise<string> {
    await this.start(nodes, parts)
    const id = await this.enqueue(over)
    await this.#clock.advanceBy(2_000)
    return id
  }

  enqueueMany(count: number): Promise<string[]> {
    return this.#alive.enqueue(count)
  }

  async cancel(ids: string[], options: { force: boolean; waitSeconds?: number } = { force: false }): Promise<void> {
    const { force, ...rest } = options
    const evidence = force ? { ...rest, force } : rest
    await this.#store.askCancel(branded(ids), { atMs: this.#clock.nowMs(), message: plain('asked'), evidence })
    this.dispatch.cancel(branded(ids), options)
  }

  job(id: string) {
    return this.#alive.job(id)
  }

  kinds(id: string) {
    return this.#alive.kinds(id)
  }

  async textOf(id: string, kind: string): Promise<string | undefined> {
    return (await this.#store.listTimeline(aJobId(id))).findLast((entry) => entry.kind === kind)?.text
  }

  async resultsOf(id: string): Promise<[string | null, string | null][]> {
    return (await this.#store.listAttempts(aJobId(id))).map(({ result, reason }) => [result, reason])
  }
}
