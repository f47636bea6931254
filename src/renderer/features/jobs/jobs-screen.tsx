import { Button, Flex, Popover } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconListSearch, IconStack2 } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { UNKNOWN_STATUS } from '../../../shared/choices.ts'
import type { Job, NodeId, JobFilter } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { useKeys } from '../../state/keys.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import type { JobsSearch } from '../../state/search.ts'
import { EmptyState, ErrorState, NoMatch, RowsSkeleton } from '../../ui/states.tsx'
import { usePages, PAGED } from '../../ui/list-screen.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { useStable } from '../../ui/use-stable.ts'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { jobColumns } from './job-columns.tsx'
import { JobDetailPane } from './job-detail-pane.tsx'
import { JobFacets, JobFilterBox } from './job-filters.tsx'
import { type FilterSearch, filterOfSearch, formatTerm, isFiltering, termsOfSearch } from './job-filter-query.ts'
import { JobMarksBar } from './job-marks-bar.tsx'
import classes from './jobs-screen.module.css'
import { useAway } from './use-away.ts'
import { useJobActions } from './use-job-actions.ts'
import { ORDERED_MAX, useQueueOrder } from './use-queue-order.ts'
import { readJobs } from '../../api/read-jobs.ts'
import { notifyError } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const route = getRouteApi('/jobs')
const PAGE_ROWS = 200

export function JobsScreen() {
  const api = useApi()
  const search: JobsSearch = route.useSearch()
  const navigate = route.useNavigate()
  const actions = useJobActions()
  const filterInput = useRef<HTMLInputElement>(null)

  const setSearch = (patch: JobsSearch, replace = false) =>
    void navigate({ search: (before: JobsSearch) => ({ ...before, ...patch }), replace })
  const setFilter = ({ status, project, spider, node, schedule, user, text, sinceHours }: FilterSearch) => {
    clearMarks()
    setSearch({ status, project, spider, node, schedule, user, text, sinceHours }, true)
  }
  const clearFilter = () => setFilter({})

  // Stable, so that the start of the time range stays the same until the filter changes.
  const filterSearch = useStable<FilterSearch>({ ...search, job: undefined, tab: undefined } as FilterSearch)
  const filter = useMemo(() => filterOfSearch(filterSearch, Math.floor(Date.now() / 60_000) * 60_000), [filterSearch])
  const list = useInfiniteQuery(
    api.query.jobs.list.infiniteOptions({
      input: (before: string | undefined) => ({ ...filter, before, limit: PAGE_ROWS }),
      ...PAGED,
      // Comparing 10,000 jobs field by field after a refetch takes longer than rendering the visible rows.
      structuralSharing: false
    })
  )
  const facets = useQuery(api.query.jobs.facets.queryOptions({ input: filter, placeholderData: keepPreviousData }))
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes
  const { data: schedules } = useQuery({
    ...api.query.schedules.list.queryOptions({ input: { limit: 500 } }),
    enabled: search.schedule !== undefined
  })
  const nodeName = useNodeName()
  const awayOf = useAway(nodes)
  const isStale = useCallback((job: Job) => awayOf(job) !== null, [awayOf])

  const { rows, loadMore } = usePages(list, 'jobs')
  const { marks, setMarks, marked, clear: clearMarks, markAll, read, hasAll } = useMarks(rows, filter)
  const isUnknown = useCallback((job: Job) => (awayOf(job)?.unknownSinceMs ?? null) !== null, [awayOf])
  const { hasNextPage, refetch } = list
  const isOfAway = search.status?.includes(UNKNOWN_STATUS) === true
  useEffect(() => {
    // When a node becomes unreachable or responds again, no event reports its jobs.
    if (isOfAway) void refetch()
  }, [isOfAway, awayOf, refetch])
  const isQueue = search.status?.length === 1 && search.status[0] === 'queued' && !list.isPlaceholderData
  const mayCancel = useMay('jobs.cancel').may
  const mayOrder = useMay('queue.order').may
  const columns = useMemo(
    () => jobColumns(nodeName, awayOf, isQueue, mayCancel ? actions : null),
    [nodeName, awayOf, isQueue, mayCancel, actions]
  )
  const queue = useQueueOrder({ isQueue, rows, hasMore: hasNextPage, loadMore, actions })
  const matching = useMemo(() => matchingCount(facets.data?.status, search.status), [facets.data, search.status])
  const openJob = (job: Job) => setSearch({ job: job.id }, search.job !== undefined)

  useKeys(texts.jobs, [
    { key: '/', label: texts.filter, run: () => filterInput.current?.focus() },
    {
      key: 'Escape',
      label: texts.closeOrClear,
      run: () => (search.job === undefined ? clearMarks() : setSearch({ job: undefined, tab: undefined }))
    }
  ])

  const facetList = <JobFacets facets={facets.data} search={search} nodeName={nodeName} onChange={setFilter} />
  return (
    <div className="split grow">
      <nav className={`${classes.facets} fixed`} aria-label={texts.filters}>
        {facetList}
      </nav>
      <section className={`${classes.list} column grow`} aria-label={texts.jobs}>
        <h1 className="visually-hidden">{texts.jobs}</h1>
        <div className={classes.toolbar}>
          <Popover position="bottom-start" shadow="md" width={220}>
            <Popover.Target>
              <Button className={classes.facetsButton} leftSection={<IconAdjustmentsHorizontal size={14} />}>
                {texts.filters}
              </Button>
            </Popover.Target>
            <Popover.Dropdown className={classes.facetsDropdown}>{facetList}</Popover.Dropdown>
          </Popover>
          <JobFilterBox
            search={search}
            nodes={nodes ?? []}
            schedules={schedules?.schedules}
            onChange={setFilter}
            inputRef={filterInput}
          />
        </div>
        {isQueue && rows.length > 0 && (
          <Flex component="p" align="center" gap="2px 10px" wrap="wrap" p="0 18px 8px 12px" className="dim">
            {queue.isOrdered
              ? mayOrder
                ? texts.queueOrderHint
                : texts.queueOrder
              : queue.isReading
                ? texts.loadingQueueOrder
                : texts.tooManyToOrder(ORDERED_MAX)}
            <Link to="/queue">{texts.limitsLink}</Link>
          </Flex>
        )}
        {marked.length > 0 && (
          <JobMarksBar
            marked={marked}
            isUnknown={isUnknown}
            nodes={nodes ?? NO_NODES}
            actions={actions}
            onClear={clearMarks}
            everything={
              hasAll || (!hasNextPage && marked.length === rows.length)
                ? null
                : { count: matching, isReading: read !== null, read: read ?? 0, onMark: () => void markAll() }
            }
          />
        )}
        {list.isError && <ErrorState what={texts.theJobs} error={list.error} onRetry={() => void list.refetch()} />}
        {list.isPending ? (
          <RowsSkeleton rows={16} />
        ) : (
          <VirtualTable
            label={texts.jobs}
            rows={queue.ordered}
            rowId={rowId}
            columns={columns}
            isStale={isStale}
            openId={search.job ?? null}
            onOpen={openJob}
            marks={marks}
            onMarks={setMarks}
            onEndReached={loadMore}
            onReorder={mayOrder && queue.isOrdered ? queue.reorder : undefined}
            primary
            empty={list.isError ? null : <NoJobs search={search} nodes={nodes ?? []} onClear={clearFilter} />}
          />
        )}
      </section>
      {search.job !== undefined && (
        <JobDetailPane
          key={search.job}
          jobId={search.job}
          tab={search.tab}
          nodeName={nodeName}
          awayOf={awayOf}
          actions={actions}
          onTab={(tab) => setSearch({ tab }, true)}
          onOpen={(id) => setSearch({ job: id })}
          onClose={() => setSearch({ job: undefined, tab: undefined })}
        />
      )}
    </div>
  )
}

const rowId = (job: Job) => job.id
const NO_NODES: [] = []

function matchingCount(
  counts: ReadonlyArray<{ value: string; count: number }> | undefined,
  status: JobsSearch['status']
): number | null {
  // A job with the status `unknown` is also counted under its last known status.
  if (counts === undefined || (status?.includes(UNKNOWN_STATUS) && status.length > 1)) return null
  return counts
    .filter(({ value }) => (status === undefined ? value !== UNKNOWN_STATUS : status.some((one) => one === value)))
    .reduce((sum, { count }) => sum + count, 0)
}

interface NoJobsProps {
  search: FilterSearch
  nodes: ReadonlyArray<{ id: NodeId; name: string }>
  onClear: () => void
}

function NoJobs({ search, nodes, onClear }: NoJobsProps) {
  const { may } = useMay('jobs.run')
  if (!isFiltering(search)) {
    return (
      <EmptyState
        icon={<IconStack2 size={28} />}
        title={texts.noJobsYet}
        action={
          may && (
            <Button variant="filled" onClick={() => openRunDialog()}>
              {texts.runSpider}
            </Button>
          )
        }
      >
        {texts.noJobsHint}
      </EmptyState>
    )
  }
  const words = search.text === undefined ? [] : [`“${search.text}”`]
  return (
    <NoMatch icon={<IconListSearch size={28} />} title={texts.noMatchingJobs} onClear={onClear}>
      <span className="mono">{[...termsOfSearch(search, nodes).map(formatTerm), ...words].join('  ')}</span>
    </NoMatch>
  )
}

const NO_MARKS: ReadonlySet<string> = new Set()

function useMarks(rows: readonly Job[], filter: JobFilter) {
  const { client } = useApi()
  const [marks, setMarks] = useState(NO_MARKS)
  /** Marked jobs that are not among the loaded rows, in the state in which they were read. */
  const [beyond, setBeyond] = useState<ReadonlyMap<string, Job>>(new Map())
  const [read, setRead] = useState<number | null>(null)
  const reading = useRef(0)

  const clear = useCallback(() => {
    reading.current++
    setMarks(NO_MARKS)
    setBeyond(new Map())
    setRead(null)
  }, [])

  const marked = useMemo(() => {
    if (marks.size === 0) return []
    const here = rows.filter(({ id }) => marks.has(id))
    if (beyond.size === 0) return here
    const shown = new Set(here.map(({ id }) => id))
    return [...here, ...[...beyond.values()].filter(({ id }) => marks.has(id) && !shown.has(id))]
  }, [marks, rows, beyond])

  const markAll = useCallback(async () => {
    const mine = ++reading.current
    setRead(0)
    try {
      const found = await readJobs(client, filter, (count) => {
        if (mine === reading.current) setRead(count)
        return mine === reading.current
      })
      if (mine !== reading.current) return
      const kept = new Map(found.map((job) => [job.id, job]))
      setBeyond(kept)
      setMarks(new Set(kept.keys()))
    } catch (error) {
      notifyError(texts.couldNotSelectAll, error)
    } finally {
      if (mine === reading.current) setRead(null)
    }
  }, [client, filter])

  return { marks, setMarks, marked, clear, markAll, read, hasAll: beyond.size > 0 }
}
