import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { RunChild, RunExit } from './run-directory.ts'

/** Events from a run's supervisor. The run directory contains the same facts. */
export interface RunEvents {
  child(child: RunChild): void
  exit(exit: RunExit): void
  /** Called when the supervisor has ended, or its events stop reaching us. */
  supervisorEnded(): void
}

const RunEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('started'), id: z.string() }),
  RunChild.extend({ event: z.literal('child'), id: z.string() }),
  RunExit.extend({ event: z.literal('exit'), id: z.string() }),
  z.object({ event: z.literal('gone'), id: z.string().nullable() })
])
export type RunEvent = z.infer<typeof RunEvent>

/** Passes lines that are not events to `other`. Does not keep this process alive. */
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
    // Not an event of a supervisor, or truncated. The run directory has the same facts.
    return null
  }
}
