import { Stack } from '@mantine/core'
import { type InfiniteData, keepPreviousData, type UseInfiniteQueryResult } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo, useRef } from 'react'
import { type KeyBinding, useKeys } from '../state/keys.ts'
import { FilterBox, type FilterBoxProps } from './filter-bar.tsx'
import classes from './list-screen.module.css'
import { ScreenHead } from './panel.tsx'
import { QueryState, type QueryStateProps, RowsSkeleton } from './states.tsx'
import { VirtualTable, type VirtualTableProps } from './table/virtual-table.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

interface ListScreenProps<Row> {
  title: string
  views?: ReactNode
  note?: ReactNode
  /** Shown on the right of the head, before the filter box. */
  before?: ReactNode
  actions?: ReactNode
  /** The key `/` focuses this box. */
  filterBox?: FilterBoxProps | undefined
  /** The screen's keys and their title in the `?` overlay. Default: the screen's title. */
  keys?: readonly KeyBinding[]
  keysTitle?: string
  instead?: ReactNode
  bar?: ReactNode
  query: QueryStateProps<unknown>['query']
  /** Completes "Could not load …". */
  what: string
  /** Whether to show the skeleton even if the query has data. */
  isLoading?: boolean
  table: Omit<VirtualTableProps<Row>, 'label' | 'primary'> & { label?: string }
  pane?: ReactNode
}

export function ListScreen<Row>(props: ListScreenProps<Row>) {
  const { title, filterBox, keys = [], query, what, table } = props
  const filterInput = useRef<HTMLInputElement>(null)
  const filterKey = { key: '/', label: texts.filter, run: () => filterInput.current?.focus() }
  useKeys(props.keysTitle ?? title, filterBox === undefined ? keys : [filterKey, ...keys])
  return (
    <>
      <ListHead>
        <ScreenHead title={title} views={props.views} note={props.note}>
          {props.before}
          {filterBox !== undefined && <FilterBox {...filterBox} inputRef={filterInput} />}
          {props.actions}
        </ScreenHead>
      </ListHead>
      {props.instead ?? (
        <>
          {props.bar}
          <ListAndPane>
            {props.isLoading ? (
              <RowsSkeleton />
            ) : (
              <QueryState query={query} what={what}>
                {() => <VirtualTable label={title} {...table} primary />}
              </QueryState>
            )}
            {props.pane}
          </ListAndPane>
        </>
      )}
    </>
  )
}

export function ListHead({ children }: { children: ReactNode }) {
  return (
    <Stack gap={8} className={classes.head}>
      {children}
    </Stack>
  )
}

export function ListAndPane({ children }: { children: ReactNode }) {
  return <div className={`${classes.split} split grow`}>{children}</div>
}

/** Options for an infinite list, newest first. Each page has the position of the next page in `nextBefore`. */
export const PAGED = {
  initialPageParam: undefined,
  getNextPageParam: <Before,>({ nextBefore }: { nextBefore: Before | null }) => nextBefore ?? undefined,
  placeholderData: keepPreviousData
}

type RowOf<List> = List extends readonly (infer Row)[] ? Row : never

export function usePages<Page, Key extends keyof Page>(
  list: UseInfiniteQueryResult<InfiniteData<Page, unknown>>,
  key: Key
) {
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = list
  const rows = useMemo(() => data?.pages.flatMap((page) => page[key] as RowOf<Page[Key]>[]) ?? [], [data, key])
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  return { rows, loadMore }
}

/** Whether the values contain each word of the filter. */
export function matchesFilter(filter: string, values: readonly unknown[]): boolean {
  const text = values.join(' ').toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
