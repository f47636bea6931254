import type { Attacker } from './attacker.ts'
import type { WatchedService } from './watched-service.ts'

/** What one attack can use. */
export interface Target {
  watched: WatchedService
  attacker: Attacker
  /** The scale of the attack: 1 is all of it; the short form of `npm run test:full` plays a tenth. */
  scale: number
}

/** An attack on one endpoint of the service. */
export interface Attack {
  name: string
  /** Left out of the short form, where another attack represents it. */
  isLong?: boolean
  door: 'scrapyd' | 'rest' | 'json-rpc' | 'ui' | 'http' | 'node'
  /** Returns complaints about the responses, as sentences; empty: none. Throwing counts as a complaint as well. */
  run(target: Target): Promise<string[]>
}

/** What an attack cost the service. */
export interface Cost {
  /** The longest the event loop was blocked. */
  loopMaxMs: number
  /** Growth of resident memory at its peak, compared with before. */
  memoryGrowthMb: number
  /** File descriptors still open a while after the attack, compared with before. */
  descriptorsLeft: number
}

export const LIMITS = { loopMaxMs: 250, loopP99Ms: 50, memoryGrowthMb: 150, descriptorsLeft: 20 } as const

/** Complaints about the cost of an attack, as sentences. */
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
