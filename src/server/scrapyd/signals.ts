import type { NodeSignal } from '../../engine/nodes/node-client.ts'

const NAMES: readonly string[] = ['HUP', 'INT', 'KILL', 'STOP', 'TERM']
/** The highest on Linux; macOS and Windows have fewer, and the node says so. */
const HIGHEST = 64

/**
 * The `signal` of cancel.json as Scrapyd 1.6 takes it: five names, or digits. `refuse` is what Python says of anything else,
 * which Scrapyd finds out only once there is a process to signal.
 */
export function readSignal(text: string | null): { send: NodeSignal } | { refuse: string } | null {
  if (text === null) return null
  if (NAMES.includes(text)) return { send: text as NodeSignal }
  if (!/^\d+$/.test(text)) return { refuse: "TypeError: 'str' object cannot be interpreted as an integer" }
  const number = BigInt(text.slice(0, 100))
  if (number <= HIGHEST) return { send: Number(number) }
  if (number < 2n ** 63n) return { refuse: 'OSError: [Errno 22] Invalid argument' }
  return { refuse: 'OverflowError: Python int too large to convert to C ssize_t' }
}
