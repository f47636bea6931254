import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Clock } from '../../runtime/clock.ts'
import { runInThread, threadFile } from '../../runtime/thread-task.ts'
import { normalise } from './check.ts'
import { type CurrentFleet, planFleetFile, type Step } from './plan.ts'
import { readFleetFile } from './yaml.ts'

/** The time limit. Ten thousand schedules take 2 s on an idle machine. A malicious file can take forever. */
const TIMEOUT_MS = 30_000
/** The memory limit, enough for ten thousand schedules. */
const MEMORY_MB = 160

export interface PlanInput {
  yaml: string
  current: CurrentFleet
  prune: boolean
}

/**
 * Whether to read the file without a thread, because starting one takes longer than reading a small file. Without `&`,
 * a file has no anchors, so it cannot expand through aliases.
 */
const isSmall = (yaml: string) => yaml.length <= 16_000 && !yaml.includes('&')

/** Rejects with FLEET_FILE_INVALID. */
export async function planInThread(input: PlanInput, clock: Clock): Promise<Step[]> {
  if (isSmall(input.yaml)) return planText(input)
  return runInThread({
    file: threadFile(import.meta.url, 'plan-worker'),
    input,
    timeoutMs: TIMEOUT_MS,
    memoryMb: MEMORY_MB,
    clock,
    tooLarge: (what) => new ScrapdeckError('FLEET_FILE_INVALID', sentence('api.fleet_file_not_read', { what }))
  })
}

export function planText({ yaml, current, prune }: PlanInput): Step[] {
  return planFleetFile(current, normalise(readFleetFile(yaml), current), prune)
}
