import type { RunLimits } from '../../../shared/contract/index.ts'
import { formatMegabytes } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'

/** What is known of a running run at one moment; null: not known. */
export interface RunFacts {
  startedAtMs: number
  /** Resident memory of all its processes. */
  memoryBytes: number | null
  /** Of all its processes, those that ended included. */
  cpuSeconds: number | null
  logBytes: number | null
  /** When the log last grew. */
  loggedAtMs: number | null
}

export interface LimitHit {
  name: keyof RunLimits
  /** `memory limit of 512 MB (used 530 MB)`: what the limit is, and in brackets what went beyond it. */
  text: string
  atMs: number
}

const MEGABYTE = 1024 * 1024
/**
 * CPU time beyond the limit until the kernel acts. Ours comes first and lets the spider close its files; the kernel's
 * ends the process at once, for when nobody watches.
 */
const KERNEL_CPU_MARGIN_SECONDS = 60

/** The limit that was hit first; null: none. Pure. `addressSpaceMegabytes` and `openFiles` are the kernel's alone. */
export function findLimitHit(limits: RunLimits, facts: RunFacts, nowMs: number): LimitHit | null {
  const { startedAtMs, memoryBytes, cpuSeconds, logBytes } = facts
  const silentFromMs = Math.max(startedAtMs, facts.loggedAtMs ?? startedAtMs)
  const formatSince = (atMs: number) => formatDuration(Math.floor((nowMs - atMs) / 1000))
  const hits: LimitHit[] = []
  const check = (
    name: keyof RunLimits,
    isHit: (limit: number) => boolean,
    words: (limit: number) => string,
    atMs: (limit: number) => number = () => nowMs
  ) => {
    const limit = limits[name]
    if (limit != null && isHit(limit)) hits.push({ name, text: words(limit), atMs: atMs(limit) })
  }
  check(
    'wallSeconds',
    (limit) => nowMs - startedAtMs >= limit * 1000,
    (limit) => `wall time limit of ${formatDuration(limit)} (ran ${formatSince(startedAtMs)})`,
    (limit) => startedAtMs + limit * 1000
  )
  check(
    'silentSeconds',
    (limit) => nowMs - silentFromMs >= limit * 1000,
    (limit) => `silence limit of ${formatDuration(limit)} (no new log line for ${formatSince(silentFromMs)})`,
    (limit) => silentFromMs + limit * 1000
  )
  check(
    'memoryMegabytes',
    (limit) => memoryBytes !== null && memoryBytes > limit * MEGABYTE,
    (limit) => `memory limit of ${formatMegabytes(limit)} (used ${formatBytes(memoryBytes!)})`
  )
  check(
    'cpuSeconds',
    (limit) => cpuSeconds !== null && cpuSeconds >= limit,
    (limit) => `CPU time limit of ${formatDuration(limit)} (used ${formatDuration(Math.floor(cpuSeconds!))})`
  )
  check(
    'logMegabytes',
    (limit) => logBytes !== null && logBytes > limit * MEGABYTE,
    (limit) => `log size limit of ${formatMegabytes(limit)} (grew to ${formatBytes(logBytes!)})`
  )
  // The one that came due longest ago; of several noticed only now, the first in the order above.
  return hits.sort((one, other) => one.atMs - other.atMs)[0] ?? null
}

/** The limit that the kernel ended a process by, as far as its end shows it. */
export function limitOfExit(
  limits: RunLimits | null,
  exit: { signal: string | null; cpuSeconds?: number | null | undefined }
): string | null {
  const { cpuSeconds } = limits ?? {}
  if (cpuSeconds == null) return null
  // The kernel's second word is SIGKILL, to a process that does not heed SIGXCPU.
  const isKilled = exit.signal === 'SIGKILL' && (exit.cpuSeconds ?? 0) >= cpuSeconds + KERNEL_CPU_MARGIN_SECONDS
  if (exit.signal !== 'SIGXCPU' && !isKilled) return null
  return `CPU time limit of ${formatDuration(cpuSeconds)} (ended by the kernel)`
}

/** What the kernel is to hold each process to (setrlimit); null: nothing. */
export interface ResourceLimits {
  addressSpaceBytes: number | null
  cpuSeconds: number | null
  openFiles: number | null
}

export function resourceLimitsOf(limits: RunLimits | null): ResourceLimits | null {
  const { addressSpaceMegabytes, cpuSeconds, openFiles } = limits ?? {}
  if (addressSpaceMegabytes == null && cpuSeconds == null && openFiles == null) return null
  return {
    addressSpaceBytes: addressSpaceMegabytes == null ? null : addressSpaceMegabytes * MEGABYTE,
    cpuSeconds: cpuSeconds == null ? null : cpuSeconds + KERNEL_CPU_MARGIN_SECONDS,
    openFiles: openFiles ?? null
  }
}

function formatBytes(bytes: number): string {
  return formatMegabytes(Math.ceil(bytes / MEGABYTE))
}
