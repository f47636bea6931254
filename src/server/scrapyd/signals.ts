import type { ScrapydSignal } from '../../engine/scrapyd-commands/scrapyd-shapes.ts'

const NAMES = ['HUP', 'INT', 'KILL', 'STOP', 'TERM'] as const
/** The highest on Linux. macOS and Windows have fewer; there the node reports the error. */
const HIGHEST = 64

/**
 * The `signal` of cancel.json as in Scrapyd 1.6: five names, or digits. `refuse` is Python's error for anything else,
 * which Scrapyd notices only when there is a process to signal.
 */
export function readSignal(text: string | null): ScrapydSignal | null {
  if (text === null) return null
  const name = NAMES.find((one) => one === text)
  if (name !== undefined) return { send: name }
  if (!/^\d+$/.test(text)) return { refuse: "TypeError: 'str' object cannot be interpreted as an integer" }
  const number = BigInt(text.slice(0, 100))
  if (number <= HIGHEST) return { send: Number(number) }
  if (number < 2n ** 63n) return { refuse: 'OSError: [Errno 22] Invalid argument' }
  return { refuse: 'OverflowError: Python int too large to convert to C ssize_t' }
}
