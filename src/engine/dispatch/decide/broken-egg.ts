import type { NodeMode } from '../../../shared/contract/index.ts'

/** A node that matches the placement of jobs that wait for an egg to arrive somewhere. */
export interface EggCandidate {
  name: string
  mode: NodeMode
  isUp: boolean
  /** null: it responds, or has not been asked yet. */
  downSinceMs: number | null
  hasEgg: boolean
  /** What it said when it could not import the egg; null: it has not refused the egg. */
  importError: string | null
}

/** A node that is down for longer no longer keeps jobs waiting for an egg that all others refuse. */
const AWAITED_MS = 10 * 60_000

/**
 * The error with which jobs can only fail: every node that could take them has refused the egg with it. null: a node
 * has the egg, or may still import it, or the nodes disagree. Nodes that restart are waited for. Pure.
 */
export function errorOfBrokenEgg(candidates: Iterable<EggCandidate>, nowMs: number): string | null {
  const errors = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.hasEgg) return null
    if (candidate.mode !== 'active') continue
    if (candidate.importError !== null) errors.add(lastLineOf(candidate.importError))
    else if (candidate.isUp || candidate.downSinceMs === null || nowMs - candidate.downSinceMs < AWAITED_MS) return null
  }
  return errors.size === 1 ? [...errors][0]! : null
}

/** `eu-1 cannot import version 3: ModuleNotFoundError: No module named 'x'`; null: no node has refused it. */
export function describeImportErrors(
  version: string,
  errors: Iterable<readonly [name: string, error: string]>
): string | null {
  const [first, ...others] = errors
  if (first === undefined) return null
  const [name, error] = first
  const who = others.length === 0 ? name : `${name} and ${others.length} more`
  return `${who} cannot import version ${version}: ${lastLineOf(error)}`
}

const SHOWN_MAX = 300

/** The last line of a traceback has the cause, and is the same on all nodes; paths above it differ. */
function lastLineOf(error: string): string {
  const line = error.trimEnd().split('\n').at(-1)!.trim()
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line || 'no reason given'
}
