import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { createEngine, type Engine, type EngineOptions } from '../index.ts'
import { buildEgg } from '../projects/egg-builder.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { FakeNode } from './fake-node.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import type { Post } from '../notify/deliveries/post.ts'
import { OWNER } from '../access/principal.ts'
import { advanceUntil } from './until.ts'

const RESOURCES = join(import.meta.dirname, '..', '..', '..', 'resources')
const clientOf = async (engine: Engine) =>
  createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })

export interface EngineWithFakeNode {
  readonly engine: Engine
  readonly client: Awaited<ReturnType<typeof clientOf>>
  readonly node: FakeNode
  readonly clock: FakeClock
  readonly directory: string
  /** Adds a node with this name, and the project `shop` with the spider `prices`. */
  prepare(name?: string): Promise<string>
  until(isTrue: () => Promise<boolean>): Promise<void>
  restart(offForMs?: number, options?: Pick<EngineOptions, 'encryption' | 'heartbeat'>): Promise<void>
  metrics(): Promise<string>
  remove(): Promise<void>
}

/** A whole engine in its own directory, without a local node. All nodes are the same fake. */
export async function openEngineWithFakeNode({
  post,
  ...given
}: Pick<
  EngineOptions,
  'encryption' | 'heartbeat' | 'clusterCredentialDirectories' | 'secretFiles' | 'webhookNetworks'
> & {
  post?: Post
} = {}): Promise<EngineWithFakeNode> {
  const directory = await makeTemporaryDirectory()
  const clock = createFakeClock()
  const node = new FakeNode(clock, { slots: 2 })
  let options = given
  let engine = await start()
  let client = await clientOf(engine)

  async function start(): Promise<Engine> {
    const started = await createEngine({
      dataDirectory: directory.path,
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'test',
      ...options,
      seams: { clock, localNode: null, createNodeClient: () => node, ...(post && { post }) }
    })
    await clock.advanceBy(0)
    return started
  }

  return {
    get engine() {
      return engine
    },
    get client() {
      return client
    },
    node,
    clock,
    directory: directory.path,

    async prepare(name = 'berlin') {
      const { id } = await client.nodes.add({ url: 'http://127.0.0.1:9/', name, slots: 2 })
      const egg = await buildEgg([
        { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
        { path: 'shop/settings.py', bytes: Buffer.from('') }
      ])
      const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
      await client.projects.upload({ file, project: 'shop', version: '1' })
      await clock.advanceBy(100)
      return id
    },

    until: (isTrue) => advanceUntil(clock, isTrue),

    async restart(offForMs = 0, changed = options) {
      options = changed
      await engine.stop()
      await clock.advanceBy(offForMs)
      engine = await start()
      client = await clientOf(engine)
    },

    metrics: () => engine.metrics(),

    async remove() {
      await engine.stop()
      await directory.remove()
    }
  }
}
