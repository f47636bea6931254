import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { RunChild, RunExit } from './run-directory.ts'

/** What the supervisor of a run tells as it happens. The same is in the run directory. */
export interface RunEvents {
  child(child: RunChild): void
  exit(exit: RunExit): void
  /** The supervisor has ended, or its words reach us no more: the run directory is all there is. */
  gone(): void
}

const RunEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('started'), id: z.string() }),
  RunChild.extend({ event: z.literal('child'), id: z.string() }),
  RunExit.extend({ event: z.literal('exit'), id: z.string() }),
  z.object({ event: z.literal('gone'), id: z.string().nullable() })
])
export type RunEvent = z.infer<typeof RunEvent>

/** Calls for each line that is one of a supervisor; `other` gets the rest. Does not keep this process alive. */
export function readRunEvents(
  stream: Readable & { unref?: () => void },
  onEvent: (event: RunEvent) => void,
  other: (line: string) => void = () => {}
): void {
  stream.unref?.()
  createInterface({ input: stream }).on('line', (line) => {
    const event = parseRunEvent(line)
    if (event) onEvent(event)
    else other(line)
  })
}

function parseRunEvent(line: string): RunEvent | null {
  try {
    return RunEvent.parse(JSON.parse(line))
  } catch {
    // Not one of ours, or cut short: the run directory tells the same.
    return null
  }
}
