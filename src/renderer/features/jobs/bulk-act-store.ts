import { create } from 'zustand'

/**
 * Acts on marked jobs that are under way. An act is *asked* the moment somebody clicks, *confirmed* when the engine has
 * answered, and over when all its jobs are where it should bring them (a running spider takes its time to stop).
 *
 *   asked ──answer──▶ confirmed ──all there──▶ over
 *     └────refused──▶ failed
 */
export interface BulkAct {
  id: string
  /** `Cancelling`, `Moving`: while it is under way. */
  doing: string
  /** `Cancelled`, `Moved`: what is counted. */
  done: string
  ids: readonly string[]
  /** What rows of these jobs say until the engine has answered. */
  rowWord: string
  state: 'asked' | 'confirmed' | 'over' | 'failed'
  /** How many jobs are where the act should bring them. */
  count: number
  /** After the count: `12 are still stopping`. */
  note: string | null
  undo: (() => Promise<unknown>) | null
}

interface BulkActs {
  acts: ReadonlyMap<string, BulkAct>
  /** The word for a job that an unanswered act is about. */
  asked: ReadonlyMap<string, string>
}

export const useBulkActs = create<BulkActs>(() => ({ acts: new Map(), asked: new Map() }))

/** Adds an act or changes one. */
export function putBulkAct(act: BulkAct): void {
  useBulkActs.setState(({ acts }) => withAsked(new Map(acts).set(act.id, act)))
}

export function changeBulkAct(id: string, change: Partial<BulkAct>): void {
  const act = useBulkActs.getState().acts.get(id)
  if (act !== undefined) putBulkAct({ ...act, ...change })
}

export function dropBulkAct(id: string): void {
  useBulkActs.setState(({ acts }) => {
    const left = new Map(acts)
    left.delete(id)
    return withAsked(left)
  })
}

let last: { key: string; asked: ReadonlyMap<string, string> } = { key: '', asked: new Map() }

/** Rows are notified only when an act begins or is answered, not with each count. */
function withAsked(acts: ReadonlyMap<string, BulkAct>): BulkActs {
  const unanswered = [...acts.values()].filter(({ state }) => state === 'asked')
  const key = unanswered.map(({ id }) => id).join()
  if (key !== last.key)
    last = { key, asked: new Map(unanswered.flatMap(({ ids, rowWord }) => ids.map((id) => [id, rowWord] as const))) }
  return { acts, asked: last.asked }
}
