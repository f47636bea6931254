/**
 * A thread that opens real engines for tests of screens, each on its own MessagePort. The first engine of a scene lives
 * through it; later ones start with copies of its files, which takes about 20 ms.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { createRouterClient } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import type { Role } from '../../../shared/roles.ts'
import type { Answer, NodeActs, OpenEngine, Request, SceneName } from '../../../shared/testing/screens.ts'
import { createWireErrorInterceptor } from '../../../shared/wire-errors.ts'
import { OWNER, type Principal } from '../../access/principal.ts'
import { createEngine, type Engine } from '../../index.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { openSqliteStoreHere } from '../../storage/sqlite/sqlite-store.ts'
import { createFakeClock } from '../fake-clock.ts'
import { FakeNode } from '../fake-node.ts'
import { makeTemporaryDirectory } from '../temporary-directory.ts'
import { BEGINS_MS_AGO, SCENES, SPIDERS } from './scenes.ts'
import { sessionsOf } from './sessions.ts'

const RESOURCES = join(import.meta.dirname, '..', '..', '..', '..', 'resources')

type Nodes = Map<string, FleetNode>

class FleetNode extends FakeNode {
  override async listSpiders(project?: string) {
    return SPIDERS[project ?? ''] ?? ['demo']
  }
}

/** What remains of an engine that has lived through a scene. */
interface Past {
  files: { path: string; bytes: Buffer }[]
  nodes: Nodes
}

const pasts = new Map<SceneName, Promise<Past>>()
const opened = new Map<number, { nodes: Nodes; close(): Promise<void> }>()

async function openEngine(dataDirectory: string, clock: Clock, nodes: Nodes): Promise<Engine> {
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  return createEngine({
    dataDirectory,
    host: 'service',
    resourcesDirectory: RESOURCES,
    scrapdeckVersion: 'test',
    seams: {
      clock,
      store: await openSqliteStoreHere({ path, clock, logger: silentLogger }),
      localNode: null,
      // Nothing is ever sent to anybody.
      post: async () => ({ kind: 'status', status: 200, retryAfterSeconds: null, text: 'ok' }),
      createNodeClient({ name, slots }) {
        const node = nodes.get(name) ?? new FleetNode(clock, { slots: slots ?? 1 })
        nodes.set(name, node)
        return node
      }
    }
  })
}

const clientOf = async (engine: Engine, principal: Principal) =>
  createRouterClient(await engine.router(), { context: { principal, source: 'ui' } })

async function logIn(engine: Engine, name: string, role?: Role): Promise<Principal> {
  const { users } = await clientOf(engine, OWNER)
  const { id } = (await users.list()).users.find((user) => user.name === name)!
  if (role !== undefined) await users.update({ id, role })
  return engine.access.findBySession(id, Date.now())!
}

async function liveThrough(scene: SceneName): Promise<Past> {
  await using directory = await makeTemporaryDirectory({ inMemory: true })
  const clock = createFakeClock(Date.now() - BEGINS_MS_AGO)
  const nodes: Nodes = new Map()
  const start = async () => {
    const started = await openEngine(directory.path, clock, nodes)
    await clock.advanceBy(10_000)
    return started
  }
  let engine = await start()
  let client = await clientOf(engine, OWNER)
  await SCENES[scene]({
    clock,
    nodes,
    get client() {
      return client
    },
    as: async (name) => clientOf(engine, await logIn(engine, name)),
    vouch: async (user) => void (await engine.access.signIn({ projects: {}, nodeGroups: {}, ...user })),
    async offFor(ms) {
      await engine.stop()
      await clock.advanceBy(ms)
      engine = await start()
      client = await clientOf(engine, OWNER)
    }
  })
  await engine.stop()
  const found = await readdir(directory.path, { recursive: true, withFileTypes: true })
  const files = found
    .filter((file) => file.isFile())
    .map(async ({ parentPath, name }) => ({
      path: join(parentPath, name).slice(directory.path.length),
      bytes: await readFile(join(parentPath, name))
    }))
  return { files: await Promise.all(files), nodes }
}

async function open(number: number, { scene, role }: OpenEngine, port: MessagePort): Promise<void> {
  if (!pasts.has(scene)) pasts.set(scene, liveThrough(scene))
  const past = await pasts.get(scene)!
  const directory = await makeTemporaryDirectory({ inMemory: true })
  for (const { path, bytes } of past.files) {
    await mkdir(dirname(directory.path + path), { recursive: true })
    await writeFile(directory.path + path, bytes, { mode: 0o600 })
  }
  const nodes: Nodes = new Map([...past.nodes].map(([name, node]) => [name, copyOf(node)]))
  const engine = await openEngine(directory.path, systemClock, nodes)
  const principal = role === 'owner' ? OWNER : await logIn(engine, 'anna', role)
  const handler = new RPCHandler(await engine.router(), {
    clientInterceptors: [createWireErrorInterceptor(() => {})]
  })
  handler.upgrade(port, { context: { principal, source: 'ui', sessions: sessionsOf(principal) } })
  port.start()
  opened.set(number, {
    nodes,
    async close() {
      port.close()
      await engine.stop()
      await directory.remove()
    }
  })
}

function copyOf({ slots, pending, running, finished, isDown, logs, eggs }: FleetNode): FleetNode {
  const node = new FleetNode(systemClock, { slots, eggs: [...eggs] })
  for (const [jobid, text] of logs) node.logs.set(jobid, text)
  return Object.assign(node, structuredClone({ pending, running, finished, isDown }))
}

const actsOn = (nodes: Nodes): NodeActs => ({
  end(jobid, log) {
    const node = [...nodes.values()].find(({ running }) => running.some((run) => run.jobid === jobid))
    if (node === undefined) throw new Error(`No node runs ${jobid}`)
    node.end(jobid)
    if (log !== undefined) node.logs.set(jobid, log)
  }
})

async function answer(request: Request, port: MessagePort | undefined): Promise<void> {
  const { number } = request
  if (request.kind === 'open') return open(number, request, port!)
  const one = opened.get(number)
  if (request.kind === 'act') return (actsOn(one!.nodes)[request.act] as (...args: unknown[]) => void)(...request.args)
  opened.delete(number)
  return one?.close()
}

async function respond({ request, port }: { request: Request; port?: MessagePort }): Promise<void> {
  const { number } = request
  try {
    await answer(request, port)
    parentPort!.postMessage({ number } satisfies Answer)
  } catch (error) {
    parentPort!.postMessage({ number, error } satisfies Answer)
  }
}

parentPort!.on('message', (message) => void respond(message))
pasts.set('fleet', liveThrough('fleet'))
await pasts.get('fleet')
parentPort!.postMessage('ready')
