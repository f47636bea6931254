import type { EngineInfo } from '../../../shared/contract/index.ts'

const ORDER: EngineInfo['state'][] = ['leading', 'following', 'silent']

/** The leader first, and last what is gone. */
export function inOrder(engines: readonly EngineInfo[]): EngineInfo[] {
  return engines.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))
}

/** The versions of the engines that live, each once. */
export function livingVersions(engines: readonly EngineInfo[]): string[] {
  const living = engines.filter(({ state }) => state !== 'silent')
  return [...new Set(living.map(({ version }) => version))].sort()
}

/** Why an engine cannot be asked to lead; null: it can. */
export function whyNotLead({ state, drained }: EngineInfo): string | null {
  if (state === 'leading') return 'It leads already'
  if (state === 'silent') return 'It does not respond'
  return drained ? 'It is drained: let it lead again first' : null
}

/** Why an engine cannot be drained; null: it can. */
export function whyNotDrain(engine: EngineInfo, all: readonly EngineInfo[]): string | null {
  if (engine.drained) return null
  const others = all.filter(({ id, state, drained }) => id !== engine.id && state !== 'silent' && !drained)
  return others.length === 0 ? 'No other engine could lead: start or undrain one first' : null
}
