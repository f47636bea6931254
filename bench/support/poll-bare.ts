import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Polled, PollOrder } from './bare-poller.ts'

export async function pollBare(
  order: PollOrder,
  { settleMs, measureMs }: { settleMs: number; measureMs: number },
  flags: string[] = []
): Promise<Polled> {
  const poller = fork(join(import.meta.dirname, 'bare-poller.ts'), { execArgv: flags })
  poller.send(order)
  const ended = once(poller, 'exit')
  try {
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    poller.send({ measureMs })
    const [polled] = (await Promise.race([once(poller, 'message'), ended.then(() => [null])])) as [Polled | null]
    if (polled === null) throw new Error('the bare poller ended')
    return polled
  } finally {
    poller.kill()
    await ended
  }
}
