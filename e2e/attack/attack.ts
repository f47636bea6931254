import type { Attacker } from './attacker.ts'
import type { WatchedService } from './watched-service.ts'

/** What one attack may use. */
export interface Target {
  watched: WatchedService
  attacker: Attacker
  /** How much of the attack: 1 is the whole; the short form of `npm run test:full` plays a tenth. */
  scale: number
}

/** Something hostile done to one door of the service. */
export interface Attack {
  name: string
  /** Not in the short form, where another attack stands for it. */
  isLong?: boolean
  door: 'scrapyd' | 'rest' | 'json-rpc' | 'ui' | 'http' | 'node'
  /** Returns what is wrong with the answers, as sentences; empty: nothing. Throwing is a complaint as well. */
  run(target: Target): Promise<string[]>
}

/** What an attack cost the service. */
export interface Cost {
  /** The longest the event loop was blocked. */
  loopMaxMs: number
  /** Resident memory at its highest, above that before. */
  memoryGrowthMb: number
  /** Descriptors still open a while after the attack, above those before. */
  descriptorsLeft: number
}

export const LIMITS = { loopMaxMs: 250, loopP99Ms: 50, memoryGrowthMb: 150, descriptorsLeft: 20 } as const

/** What is wrong with the cost of an attack, as sentences. */
export function judgeCost(cost: Cost): string[] {
  const { loopMaxMs, memoryGrowthMb, descriptorsLeft } = cost
  return [
    ...(loopMaxMs < LIMITS.loopMaxMs ? [] : [`it blocked the event loop for ${Math.round(loopMaxMs)} ms`]),
    ...(memoryGrowthMb <= LIMITS.memoryGrowthMb
      ? []
      : [`the service's memory grew by ${Math.round(memoryGrowthMb)} MB`]),
    ...(descriptorsLeft <= LIMITS.descriptorsLeft ? [] : [`${descriptorsLeft} descriptors stayed open`])
  ]
}
