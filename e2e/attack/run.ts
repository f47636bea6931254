import { setTimeout as pause } from 'node:timers/promises'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Attack, type Cost, judgeCost, LIMITS, type Target } from './attack.ts'
import { createAttacker } from './attacker.ts'
import { connectionAttacks } from './attacks/connections.ts'
import { credentialAttacks } from './attacks/credentials.ts'
import { documentAttacks } from './attacks/documents.ts'
import { engineAttacks } from './attacks/engines.ts'
import { fileAttacks } from './attacks/files-of-nodes.ts'
import { generateAttacks } from './attacks/generated.ts'
import { hostileLogAttacks } from './attacks/hostile-logs.ts'
import { hostileNodeAttacks } from './attacks/hostile-node.ts'
import { nameAttacks } from './attacks/names.ts'
import { pullingNodeAttacks } from './attacks/pulling-nodes.ts'
import { scheduleAttacks } from './attacks/schedules.ts'
import { startWatchedService, type WatchedService } from './watched-service.ts'

export interface AttackOptions {
  seed: number
  variants: number
  /** The share of each known attack to run. 1 is the whole attack. */
  scale: number
  only?: string | undefined
  /** The file that Node runs as the service. Default: the choice of `startService`. */
  entry?: string | undefined
  onProgress?: (text: string) => void
}

export const WHOLE_RUN = { variants: 500, scale: 1 }
export const SHORT_RUN = { variants: 60, scale: 0.02 }

export interface Outcome extends Cost {
  name: string
  door: Attack['door']
  complaints: string[]
  tookMs: number
}

export interface AttackResult {
  outcomes: Outcome[]
  complaints: string[]
  loopP99Ms: number
  seed: number
}

/** The number of tries. A slow service blocks the event loop in every try. A busy machine does not. */
const TRIES = 3
const SETTLE_LIMIT_MS = 5_000

export async function runAttacks(options: AttackOptions): Promise<AttackResult> {
  const { seed, variants, scale, only = '', entry, onProgress = () => {} } = options
  const known = [
    // The first attack needs a project that a later one deletes.
    ...[...fileAttacks, ...nameAttacks, ...documentAttacks, ...scheduleAttacks, ...engineAttacks],
    ...[...credentialAttacks, ...connectionAttacks, ...pullingNodeAttacks, ...hostileNodeAttacks, ...hostileLogAttacks]
  ]
  const attacks = [...known, ...generateAttacks(variants, seed)].filter(
    ({ name, isLong = false }) => name.includes(only) && (!isLong || scale === 1)
  )
  const watched = await startWatchedService(entry === undefined ? {} : { entry })
  try {
    await uploadDemo(watched.service, '1')
    const target: Target = { watched, attacker: createAttacker(watched.service.address), scale }
    const outcomes: Outcome[] = []
    for (const attack of attacks) {
      const outcome = await playUntilClean(attack, target)
      outcomes.push(outcome)
      onProgress(describeOutcome(outcome))
      if (!watched.isRunning()) {
        return {
          outcomes,
          complaints: [`the service died at: ${attack.name}\n${watched.service.output().slice(-3_000)}`],
          loopP99Ms: 0,
          seed
        }
      }
    }
    const { p99Ms } = await watched.loopDelay()
    const complaints =
      p99Ms < LIMITS.loopP99Ms ? [] : [`the event loop's delay had a 99th percentile of ${Math.round(p99Ms)} ms`]
    return { outcomes, complaints, loopP99Ms: p99Ms, seed }
  } finally {
    await watched.stop()
  }
}

async function playUntilClean(attack: Attack, target: Target): Promise<Outcome> {
  let outcome = await play(attack, target)
  for (let tries = 1; tries < TRIES && outcome.complaints.length > 0; tries += 1) outcome = await play(attack, target)
  return outcome
}

async function play(attack: Attack, target: Target): Promise<Outcome> {
  const { watched } = target
  await watched.loopDelay()
  watched.resetPeak()
  const before = { memoryMb: watched.memory().nowMb, descriptors: watched.descriptors() }
  const startedAtMs = performance.now()
  const complaints = await attack.run(target).catch((error: unknown) => [`it failed: ${String(error)}`])
  const tookMs = performance.now() - startedAtMs
  if (!watched.isRunning()) {
    const cost = { loopMaxMs: 0, memoryGrowthMb: 0, descriptorsLeft: 0 }
    return { name: attack.name, door: attack.door, tookMs, ...cost, complaints: [...complaints, 'the service died'] }
  }
  const { maxMs } = await watched.loopDelay()
  const cost: Cost = {
    loopMaxMs: maxMs,
    memoryGrowthMb: watched.memory().peakMb - before.memoryMb,
    descriptorsLeft: await settle(watched, before.descriptors)
  }
  return { name: attack.name, door: attack.door, tookMs, ...cost, complaints: [...complaints, ...judgeCost(cost)] }
}

/**
 * Waits for connections to close, which happens shortly after their last response. Returns how many more descriptors
 * are open than `before`.
 */
async function settle(watched: WatchedService, before: number): Promise<number> {
  const limit = performance.now() + SETTLE_LIMIT_MS
  while (watched.descriptors() - before > LIMITS.descriptorsLeft && performance.now() < limit) await pause(50)
  return watched.descriptors() - before
}

export function describeOutcome({ name, tookMs, loopMaxMs, memoryGrowthMb, complaints }: Outcome): string {
  const cost = `${Math.round(tookMs)} ms, loop ${Math.round(loopMaxMs)} ms, memory +${Math.round(memoryGrowthMb)} MB`
  return `${complaints.length === 0 ? 'held  ' : 'BROKE '} ${name} (${cost})${complaints.map((one) => `\n         ${one}`).join('')}`
}

export function describeResult({ outcomes, complaints, loopP99Ms, seed }: AttackResult): string {
  const broken = outcomes.filter((outcome) => outcome.complaints.length > 0)
  const highest = (of: (outcome: Outcome) => number) => Math.round(Math.max(0, ...outcomes.map(of)))
  return [
    ...broken.map(describeOutcome),
    ...complaints,
    `${outcomes.length} attacks, ${broken.length} broke something (seed ${seed}). Event loop: 99th percentile ${loopP99Ms.toFixed(1)} ms, ` +
      `longest ${highest(({ loopMaxMs }) => loopMaxMs)} ms. Memory: at most +${highest(({ memoryGrowthMb }) => memoryGrowthMb)} MB. ` +
      `Descriptors left: at most ${highest(({ descriptorsLeft }) => descriptorsLeft)}.`
  ].join('\n')
}
