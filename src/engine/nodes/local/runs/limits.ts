import type { RunLimits } from '../../../../shared/contract/index.ts'
import { formatMegabytes, wordsOfWallLimit } from '../../../../shared/run-limits.ts'
import { formatDuration } from '../../../../shared/time.ts'

/** A running run at one moment. null: unknown. */
export interface RunFacts {
  startedAtMs: number
  /** Resident memory of all its processes. */
  memoryBytes: number | null
  /** Of all its processes, including ended ones. */
  cpuSeconds: number | null
  logBytes: number | null
  loggedAtMs: number | null
}

interface LimitHit {
  /** `memory limit of 512 MB (used 530 MB)`: the limit and, in parentheses, what exceeded it. */
  text: string
  atMs: number
}

const MEGABYTE = 1024 * 1024
/**
 * How much later the kernel acts on the CPU limit. Our own limit lets the spider close its files. The kernel's ends the
 * process at once, in case no engine is watching.
 */
const KERNEL_CPU_MARGIN_SECONDS = 60

/** The limit that was hit first. Pure. Only the kernel enforces `addressSpaceMegabytes` and `openFiles`. */
export function findLimitHit(limits: RunLimits, facts: RunFacts, nowMs: number): LimitHit | null {
  const { wallSeconds, silentSeconds, memoryMegabytes, cpuSeconds, logMegabytes } = limits
  const { startedAtMs, memoryBytes, logBytes } = facts
  const silentFromMs = Math.max(startedAtMs, facts.loggedAtMs ?? startedAtMs)
  const formatSince = (atMs: number) => formatDuration(Math.floor((nowMs - atMs) / 1000))
  const hits: LimitHit[] = []
  if (wallSeconds != null && nowMs - startedAtMs >= wallSeconds * 1000) {
    const text = wordsOfWallLimit(wallSeconds, Math.floor((nowMs - startedAtMs) / 1000))
    hits.push({ text, atMs: startedAtMs + wallSeconds * 1000 })
  }
  if (silentSeconds != null && nowMs - silentFromMs >= silentSeconds * 1000) {
    const text = `silence limit of ${formatDuration(silentSeconds)} (no new log line for ${formatSince(silentFromMs)})`
    hits.push({ text, atMs: silentFromMs + silentSeconds * 1000 })
  }
  if (memoryMegabytes != null && memoryBytes !== null && memoryBytes > memoryMegabytes * MEGABYTE) {
    const text = `memory limit of ${formatMegabytes(memoryMegabytes)} (used ${formatBytes(memoryBytes)})`
    hits.push({ text, atMs: nowMs })
  }
  if (cpuSeconds != null && facts.cpuSeconds !== null && facts.cpuSeconds >= cpuSeconds) {
    const used = formatDuration(Math.floor(facts.cpuSeconds))
    hits.push({ text: `CPU time limit of ${formatDuration(cpuSeconds)} (used ${used})`, atMs: nowMs })
  }
  if (logMegabytes != null && logBytes !== null && logBytes > logMegabytes * MEGABYTE) {
    const text = `log size limit of ${formatMegabytes(logMegabytes)} (grew to ${formatBytes(logBytes)})`
    hits.push({ text, atMs: nowMs })
  }
  // Limits that were noticed only now have the same time and keep the order above.
  return hits.sort((one, other) => one.atMs - other.atMs)[0] ?? null
}

/** The limit at which the kernel ended a process, as far as its exit shows. */
export function limitOfExit(
  limits: RunLimits | null,
  exit: { signal: string | null; cpuSeconds?: number | null | undefined }
): string | null {
  const { cpuSeconds } = limits ?? {}
  if (cpuSeconds == null) return null
  // If a process ignores SIGXCPU, the kernel sends SIGKILL.
  const isKilled = exit.signal === 'SIGKILL' && (exit.cpuSeconds ?? 0) >= cpuSeconds + KERNEL_CPU_MARGIN_SECONDS
  if (exit.signal !== 'SIGXCPU' && !isKilled) return null
  return `CPU time limit of ${formatDuration(cpuSeconds)} (ended by the kernel)`
}

/** Enforced by the kernel for each process (setrlimit). */
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
