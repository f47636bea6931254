import type { GeneralUtils, ProcedureUtils } from '@orpc/tanstack-query'
import type { InfiniteData, QueryKey } from '@tanstack/react-query'
import type { Api } from '../api.tsx'
import type { NOUN_OF } from '../../../shared/contract/change-nouns.ts'
import type { Change } from '../../../shared/contract/index.ts'

export type Noun = (typeof NOUN_OF)[Change['kind']]

export type ChangeOf<N extends Noun> = Extract<
  Change,
  { kind: { [K in Change['kind']]: (typeof NOUN_OF)[K] extends N ? K : never }[Change['kind']] }
>

export interface NounUpdates<N extends Noun> {
  /** Returns a key for what changed. If a frame has several changes with the same key, only the newest is applied. */
  thingOf(change: ChangeOf<N>): string
  updates(changes: readonly ChangeOf<N>[], query: Api['query']): readonly QueryUpdate[]
}

export interface QueryUpdate {
  readonly queryKey: QueryKey
  /** Returns the same object if nothing changes. null: the result must be refetched. */
  readonly write: ((data: unknown, input: unknown) => unknown) | null
  /** Whether the result must be refetched. Receives the updated and the previous data. */
  readonly isOutdated: (data: unknown, input: unknown, before: unknown) => boolean
}

// oxlint-disable-next-line typescript/no-explicit-any -- any operation: its types are inferred from it below.
type Operation = ProcedureUtils<any, any, any, any> & GeneralUtils<any>
type InputOf<Op> = Op extends ProcedureUtils<infer _Context, infer Input, infer _Output, infer _Error> ? Input : never
export type DataOf<Op> =
  Op extends ProcedureUtils<infer _Context, infer _Input, infer Output, infer _Error> ? Output : never
/** A list is cached as one page or as infinite pages. */
export type Pages<Page> = Page | InfiniteData<Page>

export function patch<Op extends Operation>(
  operation: Op,
  write: (data: DataOf<Op>, input: NonNullable<InputOf<Op>>) => DataOf<Op>,
  isOutdated: (data: DataOf<Op>, input: NonNullable<InputOf<Op>>) => boolean = () => false
): QueryUpdate {
  return { queryKey: operation.key(), write: write as never, isOutdated: isOutdated as never }
}

/** Like `patch`, for operations that are also cached as infinite pages. */
export function patchPages<Op extends Operation>(
  operation: Op,
  write: (data: Pages<DataOf<Op>>, input: NonNullable<InputOf<Op>>) => Pages<DataOf<Op>>,
  isOutdated: (data: Pages<DataOf<Op>>, input: NonNullable<InputOf<Op>>, before: Pages<DataOf<Op>>) => boolean
): QueryUpdate {
  return { queryKey: operation.key(), write: write as never, isOutdated: isOutdated as never }
}

export function refetch(...operations: readonly Operation[]): QueryUpdate[] {
  return operations.map((operation) => ({ queryKey: operation.key(), write: null, isOutdated: () => true }))
}

/** Refetches queries, including failed ones, if `isAbout` returns true for their input. */
export function refetchIf<Op extends Operation>(
  operation: Op,
  isAbout: (input: NonNullable<InputOf<Op>>) => boolean
): QueryUpdate {
  return { queryKey: operation.key(), write: null, isOutdated: (_data, input) => isAbout(input as never) }
}

/** Replaces changed items in place and appends new ones. null removes an item. */
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
