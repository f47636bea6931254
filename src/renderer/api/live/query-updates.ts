import type { GeneralUtils, ProcedureUtils } from '@orpc/tanstack-query'
import type { InfiniteData, QueryKey } from '@tanstack/react-query'
import type { Api } from '../api.tsx'
import type { ChangeOf, Noun } from './change-nouns.ts'

/** What the changes of one noun do to what is cached. */
export interface NounUpdates<N extends Noun> {
  /** Of several changes of one thing within a frame only the newest is drawn: the key tells single things apart. */
  thingOf(change: ChangeOf<N>): string
  updates(changes: readonly ChangeOf<N>[], query: Api['query']): readonly QueryUpdate[]
}

/** What becomes of the cached answers of one operation. */
export interface QueryUpdate {
  readonly queryKey: QueryKey
  /** The same object when nothing changes; null: only the engine knows what is true now. */
  readonly write: ((data: unknown, input: unknown) => unknown) | null
  /** Whether the answer must be fetched again nevertheless, given what was written and what was there before. */
  readonly isOutdated: (data: unknown, input: unknown, before: unknown) => boolean
}

// oxlint-disable-next-line typescript/no-explicit-any -- whatever operation: its types are read from it below.
type Operation = ProcedureUtils<any, any, any, any> & GeneralUtils<any>
type InputOf<Op> = Op extends ProcedureUtils<infer _Context, infer Input, infer _Output, infer _Error> ? Input : never
export type DataOf<Op> =
  Op extends ProcedureUtils<infer _Context, infer _Input, infer Output, infer _Error> ? Output : never
/** A list may be cached as one page or as endless pages. */
export type Pages<Page> = Page | InfiniteData<Page>

/** Writes a change into the cached answers of an operation. */
export function patch<Op extends Operation>(
  operation: Op,
  write: (data: DataOf<Op>, input: NonNullable<InputOf<Op>>) => DataOf<Op>,
  isOutdated: (data: DataOf<Op>, input: NonNullable<InputOf<Op>>) => boolean = () => false
): QueryUpdate {
  return { queryKey: operation.key(), write: write as never, isOutdated: isOutdated as never }
}

/** The same for an operation that is also cached as endless pages. */
export function patchPages<Op extends Operation>(
  operation: Op,
  write: (data: Pages<DataOf<Op>>, input: NonNullable<InputOf<Op>>) => Pages<DataOf<Op>>,
  isOutdated: (data: Pages<DataOf<Op>>, input: NonNullable<InputOf<Op>>, before: Pages<DataOf<Op>>) => boolean
): QueryUpdate {
  return { queryKey: operation.key(), write: write as never, isOutdated: isOutdated as never }
}

/** For changes that only say that something is no longer true. */
export function refetch(...operations: readonly Operation[]): QueryUpdate[] {
  return operations.map((operation) => ({ queryKey: operation.key(), write: null, isOutdated: () => true }))
}

/** The list with changed things in their places and new ones at the end; null removes. */
export function mergeList<T>(
  list: readonly T[],
  changes: ReadonlyMap<string, T | null>,
  idOf: (item: T) => string
): T[] {
  const present = new Set(list.map(idOf))
  const kept = list.flatMap((item) => {
    const change = changes.get(idOf(item))
    return change === undefined ? [item] : change === null ? [] : [change]
  })
  return [...kept, ...[...changes].flatMap(([id, item]) => (item === null || present.has(id) ? [] : [item]))]
}
