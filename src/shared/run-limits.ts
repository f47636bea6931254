import type { RunLimits } from './contract/index.ts'
import { sentence } from './texts/errors/values.ts'
import type { Sentence } from './texts/sentence.ts'

/**
 * The waits after the first INT, after the second INT and after the first KILL. Later waits are longer
 * (stop-ladder.ts).
 */
export type CancelWaitsMs = readonly [number, number, number]
/** The waits for a cancel. As in Scrapyd, a spider can finish all open requests and write all its items. */
export const CANCEL_WAITS_MS: CancelWaitsMs = [600_000, 15_000, 15_000]
const FIRST_WAIT_WITHOUT_CANCEL_MS = 30_000

/** The waits for a run that must end without a cancel, because it exceeded a limit or now runs elsewhere. */
export function limitWaitsOf([first, second, last]: CancelWaitsMs): CancelWaitsMs {
  return [Math.min(first, FIRST_WAIT_WITHOUT_CANCEL_MS), second, last]
}

type LimitName = keyof RunLimits

/**
 * The lowest allowed limits. With lower limits, Python with Scrapy cannot start, and the job would fail without a clear
 * reason.
 */
const LEAST = {
  openFiles: [64, 'values.files_limit_too_small'],
  memoryMegabytes: [16, 'values.memory_limit_too_small'],
  addressSpaceMegabytes: [128, 'values.address_space_too_small']
} as const

const SIZE_UNITS = [
  ['TB', 1024 * 1024],
  ['GB', 1024]
] as const

/** `512 MB`, `1.5 GB`: exact, in the largest unit that needs at most one decimal. */
export function formatMegabytes(megabytes: number): string {
  const unit = SIZE_UNITS.find(([, size]) => megabytes >= size && ((megabytes / size) * 10) % 1 === 0)
  return unit === undefined ? `${megabytes} MB` : `${megabytes / unit[1]} ${unit[0]}`
}

export function effectiveRunLimits(ofProject: RunLimits | null, ofJob: RunLimits | null): RunLimits | null {
  const limits: RunLimits = {}
  for (const layer of [ofProject, ofJob]) {
    for (const [name, value] of Object.entries(layer ?? {})) if (value != null) limits[name as LimitName] = value
  }
  return Object.keys(limits).length === 0 ? null : limits
}

/** Limits on what a log shows. They are enforced for every run whose log can be read. */
export const LOG_LIMITS = ['noProgressSeconds', 'maxErrors', 'maxBanPercent'] as const satisfies readonly LimitName[]
const LIMITS_EVERYWHERE: ReadonlySet<string> = new Set<LimitName>(['wallSeconds', ...LOG_LIMITS])

/** The minimum number of responses for a representative ban rate. */
export const BAN_RESPONSES_MIN = 50

export function hasLocalOnlyRunLimits(limits: RunLimits | null): boolean {
  return Object.entries(limits ?? {}).some(([name, value]) => !LIMITS_EVERYWHERE.has(name) && value != null)
}

export function problemOfRunLimits(limits: RunLimits | null | undefined): Sentence | null {
  for (const [name, [least, code]] of Object.entries(LEAST)) {
    const value = limits?.[name as LimitName]
    if (value != null && value < least) return sentence(code, { least })
  }
  return null
}
