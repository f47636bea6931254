import type { Attacker } from './attacker.ts'
import type { WatchedService } from './watched-service.ts'

export interface Target {
  watched: WatchedService
  attacker: Attacker
  /** The share of the attack to run. 1 is the whole attack, and `npm run test:full` (the short form) runs a tenth. */
  scale: number
}

export interface Attack {
  name: string
  /** Whether the short form skips this attack, because it already includes a similar one. */
  isLong?: boolean
  door: 'scrapyd' | 'rest' | 'json-rpc' | 'ui' | 'http' | 'node'
  /** Returns complaints about the responses as sentences. A thrown error also counts as a complaint. */
  run(target: Target): Promise<string[]>
}

export interface Cost {
  loopMaxMs: number
  memoryGrowthMb: number
  descriptorsLeft: number
}

export const LIMITS = { loopMaxMs: 250, loopP99Ms: 50, memoryGrowthMb: 150, descriptorsLeft: 20 } as const

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
