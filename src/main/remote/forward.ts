import { type AnyRouter, os } from '@orpc/server'
import { contract, listOperations, type OperationMeta } from '../../shared/contract/index.ts'
import { READ } from '../../shared/permissions.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import type { CallContext, EngineClient, RemoteConnection } from './connection.ts'
import type { LastAnswers } from './last-answers.ts'

export interface ForwardTo {
  readonly name: string
  readonly kept: Pick<LastAnswers, 'get' | 'set' | 'newest' | 'markCurrent'>
  /** Rejects with a ScrapdeckError if there are no credentials. */
  connect(): Promise<RemoteConnection>
  isReadOnly(): boolean
  lacks(operation: string): boolean
  isOffline(): boolean
  /** Called after an error that concerns the connection or the credentials. The engine's state may have changed. */
  onTrouble(): void
}

const OPERATIONS = listOperations(contract)

type Call = (input: unknown, options: object) => Promise<unknown>

/**
 * Forwards each call to a remote engine, which validates the call and applies the rights of the user who is signed in
 * there. While the engine is unreachable, small reads return their last response.
 */
export function forwardingRouter(to: ForwardTo): { router: AnyRouter; refresh(): Promise<void> } {
  const { kept } = to
  // Viewers subscribe instead of polling, so stored responses are refreshed after changes while there are viewers.
  const looking = { count: 0, hasChanged: false }
  const router: Record<string, object> = {}
  for (const [name, operation] of OPERATIONS) {
    const path = name.split('.')
    const { meta } = operation['~orpc']
    const handler = os.handler(async ({ input, signal, lastEventId }) => {
      refuse(name, meta, to)
      const key = isKept(meta) ? `${name} ${JSON.stringify(input ?? null)}` : null
      // Do not wait for an unreachable network. The page repeats the request when the engine is back.
      const known = key !== null && to.isOffline() ? await kept.get(key) : undefined
      if (known !== undefined) return known
      const { client, explain } = await to.connect()
      try {
        const call = findCall(client, path)
        const answer: { bytes?: Uint8Array } = {}
        const context = key === null ? {} : keepingIn(answer)
        const output = await call(input, { signal, context, ...(lastEventId !== undefined && { lastEventId }) })
        if (isStream(output)) {
          const stream = explainBreaks(output, { explain, to, signal })
          return name === 'events.subscribe' ? watched(stream, looking) : stream
        }
        if (key !== null && answer.bytes !== undefined) kept.set(key, answer.bytes)
        return output
      } catch (error) {
        if (signal?.aborted === true) throw cancelled(to.name, error)
        const explained = await explain(error)
        if (isTrouble(explained)) to.onTrouble()
        if (explained.code !== 'ENGINE_UNREACHABLE') throw explained
        const last = key === null ? undefined : await kept.get(key)
        if (last === undefined) throw explained
        return last
      }
    })
    place(router, path, handler)
  }
  return {
    router: router as AnyRouter,
    async refresh() {
      if (looking.count === 0) return
      if (looking.hasChanged) {
        looking.hasChanged = false
        const { client } = await to.connect()
        for (const key of kept.newest(REFRESHED)) {
          const [name, input] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)]
          const answer: { bytes?: Uint8Array } = {}
          await findCall(client, name.split('.'))(JSON.parse(input) ?? undefined, { context: keepingIn(answer) })
          if (answer.bytes !== undefined) kept.set(key, answer.bytes)
        }
      }
      kept.markCurrent()
    }
  }
}

const keepingIn = (answer: { bytes?: Uint8Array }): CallContext => ({ onBytes: (bytes) => (answer.bytes = bytes) })

const REFRESHED = 20

async function* watched(
  stream: AsyncIterable<unknown>,
  looking: { count: number; hasChanged: boolean }
): AsyncGenerator<unknown> {
  looking.count += 1
  looking.hasChanged = true
  try {
    for await (const one of stream) {
      looking.hasChanged = true
      yield one
    }
  } finally {
    looking.count -= 1
  }
}

function refuse(name: string, meta: OperationMeta, to: ForwardTo): void {
  if (meta.writes && to.isReadOnly()) {
    throw new ScrapdeckError('ENGINE_READ_ONLY', sentence('desktop.engine_read_only', { to: to.name }))
  }
  if (to.lacks(name)) {
    throw new ScrapdeckError('ENGINE_LACKS_OPERATION', sentence('desktop.engine_too_old', { to: to.name, name }))
  }
}

const isKept = ({ writes, needs, answerBytes }: OperationMeta): boolean =>
  !writes && needs === READ && (answerBytes?.({ limit: 100 }) ?? 0) < 8_000_000

function findCall(client: EngineClient, path: string[]): Call {
  let found: unknown = client
  for (const step of path) found = (found as Record<string, unknown>)[step]
  return found as Call
}

function place(router: Record<string, object>, path: string[], procedure: object): void {
  let level = router
  for (const step of path.slice(0, -1)) level = (level[step] ??= {}) as Record<string, object>
  level[path.at(-1)!] = procedure
}

async function* explainBreaks(
  stream: AsyncIterable<unknown>,
  { explain, to, signal }: { explain: RemoteConnection['explain']; to: ForwardTo; signal: AbortSignal | undefined }
): AsyncGenerator<unknown> {
  try {
    yield* stream
  } catch (error) {
    if (signal?.aborted === true) throw cancelled(to.name, error)
    const explained = await explain(error)
    if (isTrouble(explained)) to.onTrouble()
    throw explained
  }
}

/** The error for a call whose caller has disconnected. It is neither logged nor a sign of connection trouble. */
const cancelled = (name: string, cause: unknown) =>
  new ScrapdeckError('ENGINE_UNREACHABLE', sentence('desktop.call_cancelled', { name }), { cause })

/** Whether the error concerns the connection or the credentials, not only this call. */
const isTrouble = ({ code }: ScrapdeckError): boolean =>
  code === 'ENGINE_UNREACHABLE' || code === 'ENGINE_CERTIFICATE_CHANGED' || code === 'UNAUTHORIZED'

function isStream(output: unknown): output is AsyncIterable<unknown> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
}
