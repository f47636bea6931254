import type { NodeId, NodeMode } from '../../../../shared/contract/index.ts'
import type { ImportError } from '../../../projects/distribution.ts'
import type { EggState } from './node-index.ts'

export interface EggCandidate {
  id: NodeId
  name: string
  mode: NodeMode
  isUp: boolean
  /** When the node became unavailable (`isAway`). Null: it is up, or not polled yet. */
  awaySinceMs: number | null
  egg: EggState
  /** The node's last error when importing the egg. Null: the node has not refused the egg. */
  importError: ImportError | null
}

export interface BrokenEgg {
  error: string
  nodes: string[]
  output: string
  /** The earliest of these nodes' last imports (wall clock). Jobs queued later wait for another import. */
  triedSinceMs: number
  /** Nodes that must import the egg again for later jobs, sorted by their last import, oldest first. */
  askAgain: NodeId[]
}

/** Jobs do not wait for a node that has been down for longer than this. */
const AWAITED_MS = 10 * 60_000
/** The maximum number of nodes in `askAgain`, because the uploads to them share one uplink. */
const ASKED_AT_ONCE = 8

/**
 * Returns the import error if all nodes report the same one. The jobs can then only fail. Returns null if a node has
 * the egg, is receiving it or has not tried it, or if the errors differ. Ignores nodes that are not active or that have
 * been down for too long, unless they have the egg.
 */
export function findBrokenEgg(candidates: Iterable<EggCandidate>, nowMs: number): BrokenEgg | null {
  let broken: BrokenEgg | null = null
  const askable: { id: NodeId; atMs: number }[] = []
  for (const { id, name, mode, isUp, awaySinceMs, egg, importError } of candidates) {
    if (egg === 'present') return null
    const isAwaited = awaySinceMs === null || nowMs - awaySinceMs < AWAITED_MS
    if (mode !== 'active' || !isAwaited) continue
    if (importError === null || egg === 'sending') return null
    const { output, atMs } = importError
    const error = lastLineOf(output)
    broken ??= { error, nodes: [], output, triedSinceMs: atMs, askAgain: [] }
    if (error !== broken.error) return null
    broken.nodes.push(name)
    broken.triedSinceMs = Math.min(broken.triedSinceMs, atMs)
    // Includes full nodes, because a node that stays full would otherwise keep the jobs waiting.
    if (isUp && egg === 'absent') askable.push({ id, atMs })
  }
  if (broken === null) return null
  askable.sort((one, other) => one.atMs - other.atMs)
  return { ...broken, askAgain: askable.slice(0, ASKED_AT_ONCE).map(({ id }) => id) }
}

const SHOWN_MAX = 300

/** The last line of a traceback names the cause and is the same on all nodes. The paths above it differ. */
export function lastLineOf(error: string): string {
  const line = error.trimEnd().split('\n').at(-1)!.trim()
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line || 'no reason given'
}
