import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { Answer, NodeActs, OpenEngine, Request, SceneName } from '../../shared/testing/screens.ts'
import type { Client } from '../api/wire.ts'
import { endingEngines } from './ending-engines.ts'

const SERVER = join(import.meta.dirname, '..', '..', 'engine', 'testing', 'screens', 'serve-engines.ts')
// Files that share a page (vitest.config.ts) share the thread.
const thread = new Worker(SERVER)
// Not within a test, because it takes seconds on a busy machine.
await new Promise<void>((resolve, reject) => thread.once('error', reject).once('message', resolve))
thread.unref()
const asked = new Map<number, PromiseWithResolvers<void>>()
thread.on('message', ({ number, error }: Answer) => {
  const { resolve, reject } = asked.get(number)!
  asked.delete(number)
  if (error === undefined) resolve()
  else reject(error as Error)
})
let lastNumber = 0

export type RealEngine = Awaited<ReturnType<typeof openRealEngine>>

/** Opens a real engine in its own thread, as it is after a scene, and a client with the rights of a role. */
export async function openRealEngine(scene: SceneName = 'fleet', { role = 'owner' }: Partial<OpenEngine> = {}) {
  const number = ++lastNumber
  const { port1, port2 } = new MessageChannel()
  const calls: string[] = []
  const failures = new Map<string, Error>()
  const answers = new Map<string, unknown>()
  const ask = (request: Request, port?: MessagePort) => {
    const { promise } = asked.set(number, Promise.withResolvers<void>()).get(number)!
    thread.postMessage({ request, port }, port === undefined ? [] : [port as never])
    return promise
  }
  await ask({ number, kind: 'open', scene, role }, port2 as never)
  const link = new RPCLink({
    port: port1 as never,
    interceptors: [
      async ({ path, next }) => {
        const name = path.join('.')
        calls.push(name)
        const failure = failures.get(name)
        if (failure) throw failure
        return answers.has(name) ? answers.get(name) : next()
      }
    ]
  })
  return {
    client: createORPCClient<Client>(link),
    /** The names of the calls so far, in order: `jobs.cancel`. */
    calls,
    /** Each named call fails with this error until the entry is deleted. */
    failures,
    /** Each named call gets this answer, for states that no engine reaches in a test, such as a refused e-mail. */
    answers,
    act: <Act extends keyof NodeActs>(act: Act, ...args: Parameters<NodeActs[Act]>) =>
      ask({ number, kind: 'act', act, args }),
    stop() {
      port1.close()
      endingEngines.add(ask({ number, kind: 'close' }))
    }
  }
}
