import type { Attacker } from './attacker.ts'
import type { WatchedService } from './watched-service.ts'

export interface Target {
  watched: WatchedService
  attacker: Attacker
  /** The part of the attack to run: 1 is all of it, and the short form of `npm run test:full` runs a tenth. */
  scale: number
}

export interface Attack {
  name: string
  /** Left out of the short form, because a similar attack is part of it. */
  isLong?: boolean
  door: 'scrapyd' | 'rest' | 'json-rpc' | 'ui' | 'http' | 'node'
  /** Returns complaints about the responses as sentences. An error that it throws is also a complaint. */
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
