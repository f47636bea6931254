import { Button, SegmentedControl } from '@mantine/core'
import { IconBug, IconCircleCheck, IconListSearch } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useRef } from 'react'
import type { ErrorGroup, ErrorState, ProjectName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { ERROR_STATES, type ErrorsSearch } from '../../state/search.ts'
import { FilterBar } from '../../ui/filter-bar.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { ListAndPane, ListHead } from '../../ui/list-screen.tsx'
import { ScreenHead } from '../../ui/panel.tsx'
import { EmptyState, ErrorState as LoadError, RowsSkeleton } from '../../ui/states.tsx'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { errorColumns } from './error-columns.tsx'
import { ErrorDetail } from './error-detail.tsx'
import { useSetErrorState } from './use-error-actions.ts'

const route = getRouteApi('/errors')
const PAGE_ROWS = 100
const ROW_PX = 46

const STATE_LABELS: Record<ErrorState | 'all', string> = {
  open: 'Open',
  resolved: 'Resolved',
  ignored: 'Ignored',
  all: 'All'
}

/** The errors that runs logged, the same ones together; filters and the open error are in the address. */
export function ErrorsScreen() {
  const { query } = useApi()
  const search: ErrorsSearch = route.useSearch()
  const navigate = route.useNavigate()
  const setState = useSetErrorState()
  const filterBox = useRef<HTMLInputElement>(null)
  const { group: openId, state = 'open', project, spider, version, since, node, text } = search
  const setSearch = (patch: ErrorsSearch, replace = false) =>
    void navigate({ search: (before: ErrorsSearch) => ({ ...before, ...patch }), replace })
  const [typed, setTyped] = useTyped(text, (next) => setSearch({ text: next }, true))

  const list = useInfiniteQuery(
    query.errors.list.infiniteOptions({
      input: (before: string | undefined) => ({
        ...{ project, spider, version, firstVersion: since, nodeId: node, text, before, limit: PAGE_ROWS },
        state: state === 'all' ? undefined : state
      }),
      initialPageParam: undefined,
      getNextPageParam: ({ nextBefore }) => nextBefore ?? undefined,
      placeholderData: keepPreviousData
    })
  )
  const { data: nodes } = useQuery(query.nodes.list.queryOptions())
  const nodeName = (id: string) => nodes?.nodes.find((one) => one.id === id)?.name ?? id
  const rows = useMemo(() => list.data?.pages.flatMap(({ groups }) => groups) ?? [], [list.data])
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  const columns = useMemo(() => errorColumns(state === 'all'), [state])

  const open = (row: ErrorGroup) => setSearch({ group: row.id }, openId !== undefined)
  const close = () => setSearch({ group: undefined })
  const opened = rows.find(({ id }) => id === openId)
  const resolve = (to: ErrorState) => void (opened !== undefined && opened.state === 'open' && setState(opened, to))
  useKeys('Errors', [
    { key: '/', label: 'Filter', run: () => filterBox.current?.focus() },
    { key: 'r', label: 'Resolve the open error', run: () => resolve('resolved') },
    { key: 'i', label: 'Ignore the open error', run: () => resolve('ignored') },
    { key: 'Escape', label: 'Close the error', run: close }
  ])

  const chips: { key: keyof ErrorsSearch; label: string }[] = [
    ...(spider === undefined ? [] : [{ key: 'spider' as const, label: `spider: ${spider}` }]),
    ...(version === undefined ? [] : [{ key: 'version' as const, label: `version: ${version}` }]),
    ...(since === undefined ? [] : [{ key: 'since' as const, label: `new in version: ${since}` }]),
    ...(node === undefined ? [] : [{ key: 'node' as const, label: `node: ${nodeName(node)}` }])
  ]
  const clear = () => {
    setTyped('')
    setSearch(
      { project: undefined, spider: undefined, version: undefined, since: undefined, node: undefined, text: undefined },
      true
    )
  }
  const isFiltering = chips.length > 0 || project !== undefined || text !== undefined
  return (
    <>
      <ListHead>
        <ScreenHead title="Errors" note="Errors of all runs, grouped">
          <FilterBox
            label="Filter errors"
            placeholder="Exception, message, file"
            value={typed}
            onChange={setTyped}
            onClear={() => setTyped('')}
            inputRef={filterBox}
          />
        </ScreenHead>
      </ListHead>
      <FilterBar
        chips={chips.map(({ key, label }) => ({ label, onRemove: () => setSearch({ [key]: undefined }, true) }))}
        onClear={isFiltering ? clear : null}
      >
        <SegmentedControl
          aria-label="State"
          size="xs"
          value={state}
          onChange={(value) => setSearch({ state: value === 'open' ? undefined : (value as ErrorState | 'all') }, true)}
          data={[...ERROR_STATES, 'all' as const].map((value) => ({ value, label: STATE_LABELS[value] }))}
        />
        <ProjectSelect project={project} onChange={(next) => setSearch({ project: next }, true)} />
      </FilterBar>
      <ListAndPane>
        {list.isError && list.data === undefined ? (
          <LoadError what="the errors" error={list.error} onRetry={() => void list.refetch()} />
        ) : list.data === undefined ? (
          <RowsSkeleton />
        ) : (
          <VirtualTable
            label="Errors"
            rows={rows}
            rowId={rowId}
            columns={columns}
            openId={openId === undefined ? null : String(openId)}
            onOpen={open}
            onEndReached={loadMore}
            rowPx={ROW_PX}
            primary
            empty={<NoErrors state={state} isFiltering={isFiltering} onClear={clear} />}
          />
        )}
        {openId !== undefined && (
          <ErrorDetail
            key={openId}
            id={openId}
            nodeName={nodeName}
            onState={setState}
            onFilter={(filter) => setSearch({ ...filter, state: 'all', group: undefined })}
            onClose={close}
          />
        )}
      </ListAndPane>
    </>
  )
}

const rowId = ({ id }: ErrorGroup) => String(id)

function ProjectSelect({
  project,
  onChange
}: {
  project: ProjectName | undefined
  onChange: (project: ProjectName | undefined) => void
}) {
  const { query } = useApi()
  const { data } = useQuery(query.projects.list.queryOptions())
  const names = new Set([
    ...(data?.projects ?? []).map(({ name }) => name),
    ...(project === undefined ? [] : [project])
  ])
  return (
    <Select
      size="xs"
      rightSectionWidth={22}
      aria-label="Project"
      placeholder="All projects"
      clearable
      searchable
      value={project ?? null}
      data={[...names].toSorted()}
      onChange={(value) => onChange((value ?? undefined) as ProjectName | undefined)}
    />
  )
}

interface NoErrorsProps {
  state: ErrorState | 'all'
  isFiltering: boolean
  onClear: () => void
}

function NoErrors({ state, isFiltering, onClear }: NoErrorsProps) {
  if (isFiltering)
    return (
      <EmptyState
        icon={<IconListSearch size={28} />}
        title="No matching errors"
        action={<Button onClick={onClear}>Clear filter</Button>}
      >
        {state === 'all' ? 'No error matches the filter.' : `No ${state} error matches the filter.`}
      </EmptyState>
    )
  if (state === 'resolved' || state === 'ignored')
    return <EmptyState icon={<IconCircleCheck size={28} />} title={`No ${state} errors`} />
  return (
    <EmptyState
      icon={<IconBug size={28} />}
      title={state === 'open' ? 'No open errors' : 'No errors yet'}
      action={<LinkButton to="/jobs">Show jobs</LinkButton>}
    >
      Tracebacks and ERROR lines in the logs of your spiders appear here in groups. Each group shows its count, first
      version, spiders and nodes.
    </EmptyState>
  )
}
