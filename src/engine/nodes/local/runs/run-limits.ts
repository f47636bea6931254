import type { RunLimits } from '../../../../shared/contract/index.ts'
import { wallLimitHit } from '../../../../shared/texts/limit-hits.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'

/** What is known about a live run at some point in time. null: unknown. */
export interface RunFacts {
  startedAtMs: number
  memoryBytes: number | null
  /** CPU time of all processes of the run, including ended ones. */
  cpuSeconds: number | null
  logBytes: number | null
  loggedAtMs: number | null
}

interface LimitHit {
  /** `memory limit of 512 MB (used 530 MB)`: the limit, and the value that exceeded it in parentheses. */
  hit: Message
  atMs: number
}

const MEGABYTE = 1024 * 1024
/** The margin of the kernel's CPU limit above ours. Only our limit lets the spider close its files. */
const KERNEL_CPU_MARGIN_SECONDS = 60

/** The limit that was hit first. Pure. Only the kernel enforces `addressSpaceMegabytes` and `openFiles`. */
export function findLimitHit(runLimits: RunLimits, facts: RunFacts, nowMs: number): LimitHit | null {
  const { wallSeconds, silentSeconds, memoryMegabytes, cpuSeconds, logMegabytes } = runLimits
  const { startedAtMs, memoryBytes, logBytes } = facts
  const silentFromMs = Math.max(startedAtMs, facts.loggedAtMs ?? startedAtMs)
  const hits: LimitHit[] = []
  if (wallSeconds != null && nowMs - startedAtMs >= wallSeconds * 1000) {
    hits.push({ hit: wallLimitHit(wallSeconds, nowMs - startedAtMs), atMs: startedAtMs + wallSeconds * 1000 })
  }
  if (silentSeconds != null && nowMs - silentFromMs >= silentSeconds * 1000) {
    const limit = say('reason.silence_limit', { seconds: silentSeconds })
    const hit = say('limit_hit.silent', { limit, seconds: Math.floor((nowMs - silentFromMs) / 1000) })
    hits.push({ hit, atMs: silentFromMs + silentSeconds * 1000 })
  }
  if (memoryMegabytes != null && memoryBytes !== null && memoryBytes > memoryMegabytes * MEGABYTE) {
    const limit = say('reason.memory_limit', { megabytes: memoryMegabytes })
    hits.push({ hit: say('limit_hit.used_memory', { limit, megabytes: inMegabytes(memoryBytes) }), atMs: nowMs })
  }
  if (cpuSeconds != null && facts.cpuSeconds !== null && facts.cpuSeconds >= cpuSeconds) {
    const limit = say('reason.cpu_time_limit', { seconds: cpuSeconds })
    hits.push({ hit: say('limit_hit.used_time', { limit, seconds: Math.floor(facts.cpuSeconds) }), atMs: nowMs })
  }
  if (logMegabytes != null && logBytes !== null && logBytes > logMegabytes * MEGABYTE) {
    const limit = say('reason.log_size_limit', { megabytes: logMegabytes })
    hits.push({ hit: say('limit_hit.log_grew', { limit, megabytes: inMegabytes(logBytes) }), atMs: nowMs })
  }
  // Limits noticed at the same time keep the order above.
  return hits.sort((one, other) => one.atMs - other.atMs)[0] ?? null
}

/** The limit that made the kernel end a process, if the exit shows it. */
export function limitOfExit(
  runLimits: RunLimits | null,
  exit: { signal: string | null; cpuSeconds?: number | null | undefined }
): Message | null {
  const { cpuSeconds } = runLimits ?? {}
  if (cpuSeconds == null) return null
  // If a process ignores SIGXCPU, the kernel sends SIGKILL.
  const isKilled = exit.signal === 'SIGKILL' && (exit.cpuSeconds ?? 0) >= cpuSeconds + KERNEL_CPU_MARGIN_SECONDS
  if (exit.signal !== 'SIGXCPU' && !isKilled) return null
  return say('limit_hit.ended_by_kernel', { limit: say('reason.cpu_time_limit', { seconds: cpuSeconds }) })
}

/** The kernel enforces these for each process (setrlimit). */
export interface ResourceLimits {
  addressSpaceBytes: number | null
  cpuSeconds: number | null
  openFiles: number | null
}

export function resourceLimitsOf(runLimits: RunLimits | null): ResourceLimits | null {
  const { addressSpaceMegabytes, cpuSeconds, openFiles } = runLimits ?? {}
  if (addressSpaceMegabytes == null && cpuSeconds == null && openFiles == null) return null
  return {
    addressSpaceBytes: addressSpaceMegabytes == null ? null : addressSpaceMegabytes * MEGABYTE,
    cpuSeconds: cpuSeconds == null ? null : cpuSeconds + KERNEL_CPU_MARGIN_SECONDS,
    openFiles: openFiles ?? null
  }
}

const inMegabytes = (bytes: number): number => Math.ceil(bytes / MEGABYTE)
