import type { NodeId, NodeMode } from '../../../../shared/contract/index.ts'
import type { ImportError } from '../../../projects/distribution.ts'
import type { EggState } from './node-index.ts'

/** A node that matches the placement of jobs that wait for an egg to arrive somewhere. */
export interface EggCandidate {
  id: NodeId
  name: string
  mode: NodeMode
  isUp: boolean
  /** Since when it does not respond, rejects the credentials or the like; null: it is up, or has not been asked yet. */
  notUpSinceMs: number | null
  egg: EggState
  /** What it said when it last could not import the egg; null: it has not refused the egg. */
  importError: ImportError | null
}

/** An egg that no node can import. */
export interface BrokenEgg {
  /** The last line that all nodes agree on. */
  error: string
  /** The nodes that said so, and the whole words of the first. */
  nodes: string[]
  output: string
  /** Wall clock. Each of these nodes has tried it since; jobs that came later wait until they have tried it again. */
  triedSinceMs: number
  /** The nodes to send it to again for jobs that came later, the one that tried it first before the others. */
  askAgain: NodeId[]
}

/** A node that is not up for longer no longer keeps jobs waiting for an egg that all others refuse. */
const AWAITED_MS = 10 * 60_000
/** All of these uploads share one uplink. */
const ASKED_AT_ONCE = 8

/**
 * The error with which jobs can only fail: every node that could take them has refused the egg with it. null: a node
 * has the egg, is being sent it or has not tried it, or the nodes disagree. Nodes that restart are waited for. Takes no
 * more candidates than it needs. Pure.
 */
export function findBrokenEgg(candidates: Iterable<EggCandidate>, nowMs: number): BrokenEgg | null {
  let broken: BrokenEgg | null = null
  const askable: { id: NodeId; atMs: number }[] = []
  for (const { id, name, mode, isUp, notUpSinceMs, egg, importError } of candidates) {
    if (egg === 'present') return null
    const isAwaited = notUpSinceMs === null || nowMs - notUpSinceMs < AWAITED_MS
    if (mode !== 'active' || !isAwaited) continue
    if (importError === null || egg === 'sending') return null
    const { output, atMs } = importError
    const error = lastLineOf(output)
    broken ??= { error, nodes: [], output, triedSinceMs: atMs, askAgain: [] }
    if (error !== broken.error) return null
    broken.nodes.push(name)
    broken.triedSinceMs = Math.min(broken.triedSinceMs, atMs)
    // Whether or not it has a free slot: a node that stays full would keep the jobs waiting.
    if (isUp && egg === 'absent') askable.push({ id, atMs })
  }
  if (broken === null) return null
  askable.sort((one, other) => one.atMs - other.atMs)
  return { ...broken, askAgain: askable.slice(0, ASKED_AT_ONCE).map(({ id }) => id) }
}

const SHOWN_MAX = 300

/** The last line of a traceback has the cause, and is the same on all nodes; paths above it differ. */
export function lastLineOf(error: string): string {
  const line = error.trimEnd().split('\n').at(-1)!.trim()
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line || 'no reason given'
}
