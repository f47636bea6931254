import type { Figures, SystemStatus } from '../../../shared/contract/index.ts'
import { type NounUpdates, patch } from './query-updates.ts'

const SAMPLE_EVERY_MS = 10_000
const SAMPLES_KEPT = 360

export const system: NounUpdates<'system'> = {
  thingOf: ({ kind }) => kind,
  updates: (changes, query) => {
    const news: Partial<SystemStatus> = Object.assign({}, ...changes.map(({ kind: _kind, ...part }) => part))
    const { figures } = news
    const status = patch(query.system.status, (data) => ({ ...data, ...news }))
    if (figures === undefined) return [status]
    return [status, patch(query.system.history, (data) => ({ samples: addSample(data.samples, figures) }))]
  }
}

/** The newest figures are always the last sample; a sample is added every 10 s. */
function addSample(samples: readonly Figures[], figures: Figures): Figures[] {
  const [before, last] = [samples.at(-2), samples.at(-1)]
  if (last && figures.sampledAtMs < last.sampledAtMs) return [...samples]
  const replaces = before !== undefined && last !== undefined && last.sampledAtMs - before.sampledAtMs < SAMPLE_EVERY_MS
  return [...(replaces ? samples.slice(0, -1) : samples), figures].slice(-SAMPLES_KEPT)
}
