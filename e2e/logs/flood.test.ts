import { MessageChannel } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { expect, it, onTestFinished } from 'vitest'
import { tailLog } from '../../src/engine/runs/logs/log-tail.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { followLog, LIMIT_BYTES, type LogsClient } from '../../src/renderer/terminal/follow-log.ts'
import { logsContract } from '../../src/shared/contract/logs.ts'
import { aJobId } from '../../src/shared/testing/ids.ts'
import { isCore } from '../../scripts/test-length.mjs'

it.skipIf(isCore)(
  'a viewer that does not read is sent no more than the limit of a flood over a MessagePort',
  async () => {
    const line = Buffer.from(`${'x'.repeat(999)}\n`)
    let readTo = 0
    let shown = 0
    const log = {
      read: async ({ offset, limitBytes }: { offset: number; limitBytes: number }) => {
        if (readTo - shown > 16 * LIMIT_BYTES) throw new Error('A viewer that stands still is flooded')
        await new Promise((wake) => setImmediate(wake))
        const bytes = new Uint8Array(Buffer.alloc(Math.floor(limitBytes / line.length) * line.length, line))
        readTo = Math.max(readTo, offset + bytes.length)
        return { offset, sizeBytes: 1_000_000_000, bytes }
      },
      waitForNews: () => Promise.resolve()
    }
    const os = implement(logsContract)
    const tail = os.tail.handler(({ input: { offset = 0, limitBytes }, signal }) =>
      tailLog({ log, mayGrow: () => true, from: { offset }, limitBytes, clock: systemClock, signal })
    )
    const { port1, port2 } = new MessageChannel()
    onTestFinished(() => port1.close())
    new RPCHandler({ tail }).upgrade(port1 as never)
    const logs = createORPCClient<{ tail: LogsClient['tail'] }>(new RPCLink({ port: port2 as never }))
    port1.start()
    port2.start()

    const closing = new AbortController()
    const waiting: (() => void)[] = []
    const following = followLog({
      logs,
      jobId: aJobId('0'.repeat(32)),
      tailBytes: 0,
      fromOffset: 0,
      signal: closing.signal,
      onChunk: ({ nextOffset }) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.push(() => {
          shown = nextOffset
          resolve()
        })
        return promise
      },
      onState: () => {}
    })
    /** Resolves when the engine has been idle for a while. A test cannot wait for an event that must not occur. */
    const settle = async () => {
      for (let before = -1; before !== readTo; ) {
        before = readTo
        await new Promise((wake) => setTimeout(wake, 50))
      }
    }
    for (let turn = 0; turn < 20; turn += 1) {
      await expect.poll(() => waiting.length).toBe(1)
      await settle()
      expect(readTo - shown).toBeLessThanOrEqual(LIMIT_BYTES + 262_144)
      waiting.shift()!()
    }
    expect(shown).toBeGreaterThan(4 * LIMIT_BYTES)
    closing.abort()
    waiting.shift()?.()
    await following
  }
)
