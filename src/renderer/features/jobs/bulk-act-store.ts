import { create } from 'zustand'

/**
 * Bulk actions on marked jobs that are in progress. An action is *asked* when the user clicks, *confirmed* when the
 * engine has responded, and *over* when all its jobs have reached the intended state. If the engine refuses, the
 * action is dropped and an error is shown.
 */
export interface BulkAct {
  id: string
  /** `Cancelling 12 jobs`. */
  doing: (total: number) => string
  /** `Cancelled 3 of 12 jobs`. */
  done: (count: number, total: number) => string
  ids: readonly string[]
  /** Shown in the rows of these jobs until the engine has responded. */
  rowWord: string
  state: 'asked' | 'confirmed' | 'over'
  /** How many jobs have reached the intended state. */
  count: number
  /** Shown below the main text of the notice: `12 still stopping`. */
  note: string | null
  undo: (() => Promise<unknown>) | null
}

interface BulkActs {
  acts: ReadonlyMap<string, BulkAct>
  asked: ReadonlyMap<string, string>
}

export const useBulkActs = create<BulkActs>(() => ({ acts: new Map(), asked: new Map() }))

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

/**
 * Keeps the `asked` object until an action starts or the engine responds, because a new object would re-render the
 * rows.
 */
function withAsked(acts: ReadonlyMap<string, BulkAct>): BulkActs {
  const unanswered = [...acts.values()].filter(({ state }) => state === 'asked')
  const key = unanswered.map(({ id }) => id).join()
  if (key !== last.key)
    last = { key, asked: new Map(unanswered.flatMap(({ ids, rowWord }) => ids.map((id) => [id, rowWord] as const))) }
  return { acts, asked: last.asked }
}
