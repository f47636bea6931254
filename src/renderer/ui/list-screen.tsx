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
  /** Links to the screen's views. */
  views?: ReactNode
  note?: ReactNode
  /** On the right of the head, before and after the filter box. */
  before?: ReactNode
  actions?: ReactNode
  /** The key `/` focuses it. */
  filterBox?: FilterBoxProps | undefined
  /** The screen's keys and the title that the `?` overlay lists them under; default: the screen's title. */
  keys?: readonly KeyBinding[]
  keysTitle?: string
  /** Shown in place of everything below the head. */
  instead?: ReactNode
  /** Between the head and the list: a filter bar. */
  bar?: ReactNode
  query: QueryStateProps<unknown>['query']
  /** Completes "Could not load …". */
  what: string
  /** Shows the skeleton although the query has data. */
  isLoading?: boolean
  table: Omit<VirtualTableProps<Row>, 'label' | 'primary'> & { label?: string }
  /** Beside the list: the row that is open. */
  pane?: ReactNode
}

/** A screen that is one list: its head, its table with loading, error and empty states, and the pane of one row. */
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

/** The part above a list: the head of the screen, and what belongs below it. */
export function ListHead({ children }: { children: ReactNode }) {
  return (
    <Stack gap={8} className={classes.head}>
      {children}
    </Stack>
  )
}

/** A list and, beside it, the pane of the row that is open. */
export function ListAndPane({ children }: { children: ReactNode }) {
  return <div className={`${classes.split} grow`}>{children}</div>
}

/** Options of an infinite list, newest first, whose pages name the place of the next one as `nextBefore`. */
export const PAGED = {
  initialPageParam: undefined,
  getNextPageParam: <Before,>({ nextBefore }: { nextBefore: Before | null }) => nextBefore ?? undefined,
  placeholderData: keepPreviousData
}

type RowOf<List> = List extends readonly (infer Row)[] ? Row : never

/** The rows of all pages loaded so far, and what loads the next page when the end of the list is in sight. */
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
