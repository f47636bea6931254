import type { Figures } from '../shared/contract/index.ts'
import type { EngineHost } from './engine-host.ts'

/** Calls `show` with the current figures and after each change, until the signal aborts. */
export async function followFigures(
  client: EngineHost['client'],
  show: (figures: Figures) => void,
  signal: AbortSignal
): Promise<void> {
  try {
    // Subscribe before the first read, so that no change is lost in between.
    const batches = await client.events.subscribe({}, { signal })
    show((await client.system.status()).figures)
    for await (const batch of batches) {
      for (const change of batch.changes) if (change.kind === 'figures') show(change.figures)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
