import type { EngineInfo } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/engines.ts'

const ORDER: EngineInfo['state'][] = ['leading', 'following', 'silent']

export function inOrder(engines: readonly EngineInfo[]): EngineInfo[] {
  return engines.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))
}

export function livingVersions(engines: readonly EngineInfo[]): string[] {
  const living = engines.filter(({ state }) => state !== 'silent')
  return [...new Set(living.map(({ version }) => version))].sort()
}

/** Why an engine cannot take over. null: it can. */
export function whyNotLead({ state, drained }: EngineInfo): string | null {
  if (state === 'leading') return texts.alreadyLeads
  if (state === 'silent') return texts.notResponding
  return drained ? texts.drainedCannotLead : null
}

/** Why an engine cannot be drained. null: it can. */
export function whyNotDrain(engine: EngineInfo, all: readonly EngineInfo[]): string | null {
  if (engine.drained) return null
  const others = all.filter(({ id, state, drained }) => id !== engine.id && state !== 'silent' && !drained)
  return others.length === 0 ? texts.noOtherLeader : null
}
