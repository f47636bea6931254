import { Button, Checkbox, Group, Popover, Stack, TextInput } from '@mantine/core'
import { IconArrowsDiff, IconTable, IconColumns } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import {
  type ItemCondition,
  type ItemRow,
  type ItemsFacts,
  type Job,
  type ItemColumn,
  ITEMS_BOUNDS
} from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { ExportMenu } from '../../ui/items/export-menu.tsx'
import { type ItemsOf, describeFacts } from '../../ui/items/items-facts.ts'
import { itemColumns } from '../../ui/items/item-columns.tsx'
import { isCopying, ITEMS_AGAIN_MS, ItemsProblem, mayPass } from '../../ui/items/items-problem.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { ListAndPane, ListHead, usePages } from '../../ui/list-screen.tsx'
import { ScreenHead, DetailPane, PaneHead } from '../../ui/panel.tsx'
import { EmptyState, NoMatch, RowsSkeleton, QueryState } from '../../ui/states.tsx'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { ComparePane } from './compare-pane.tsx'
import { FieldHeader, FieldPane } from './field-pane.tsx'
import { FilterRow } from './filter-row.tsx'
import {
  formatSort,
  formatWhere,
  type ItemsSort,
  MOST_CONDITIONS,
  OPERATOR,
  parseSort,
  parseWhere
} from './items-filter.ts'
import classes from './items-screen.module.css'
import { CopyButton } from '../../ui/copy-button.tsx'
import { useStable } from '../../ui/use-stable.ts'
import { texts } from '../../../shared/texts/ui/items.ts'

const route = getRouteApi('/items')

const PAGE_ROWS = 200
/** The maximum number of columns shown by default. More columns render slowly. The menu shows the others. */
const COLUMNS_SHOWN = 50

export function ItemsScreen() {
  const { query } = useApi()
  const { job: jobId, attempt } = route.useSearch()
  const job = useQuery(query.jobs.get.queryOptions({ input: { id: jobId! }, enabled: jobId !== undefined }))
  const facts = useQuery(
    query.items.describe.queryOptions({
      input: { jobId: jobId!, attemptNumber: attempt },
      enabled: jobId !== undefined,
      retry: mayPass,
      refetchInterval: ({ state }) => (state.data?.mayGrow || isCopying(state.error) ? ITEMS_AGAIN_MS : false)
    })
  )
  if (jobId === undefined) {
    return (
      <EmptyState
        icon={<IconTable size={28} />}
        title={texts.noJobSelected}
        action={<LinkButton to="/jobs">{texts.jobs}</LinkButton>}
      >
        {texts.noJobHint}
      </EmptyState>
    )
  }
  if (facts.data === undefined || job.data === undefined) {
    const error = job.error ?? facts.error
    return (
      <>
        <ListHead>
          <ScreenHead title={texts.items} note={job.data && <JobLink job={job.data.job} />} />
        </ListHead>
        <div className={classes.problem}>
          {error === null ? (
            <RowsSkeleton rows={12} />
          ) : (
            <ItemsProblem
              job={job.data?.job}
              error={error}
              onRetry={() => void Promise.all([job.refetch(), facts.refetch()])}
            />
          )}
        </div>
      </>
    )
  }
  return <ItemsOfJob key={`${jobId} ${attempt}`} job={job.data.job} facts={facts.data} />
}

function JobLink({ job, attempt }: { job: Job; attempt?: number | undefined }) {
  const link = (
    <Link to="/jobs" search={{ job: job.id, tab: 'items' }}>
      {job.project}/{job.spider}
    </Link>
  )
  if (attempt !== undefined) return texts.jobWithAttempt(link, attempt)
  return job.startedAtMs === null ? link : texts.jobWithTime(link, formatInstant(job.startedAtMs))
}

function ItemsOfJob({ job, facts }: { job: Job; facts: ItemsFacts }) {
  const { query } = useApi()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const change = (part: Partial<typeof search>, replace = false) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace })
  const of: ItemsOf = { jobId: job.id, attemptNumber: search.attempt }
  const conditions = useMemo(() => parseWhere(search.where), [search.where])
  const sort = parseSort(search.sort)
  const [chosen, setChosen] = useState<string[] | null>(null)
  const shown = chosen ?? facts.columns.slice(0, COLUMNS_SHOWN).map(({ name }) => name)
  // Stable, so that a refetch of `describe` without new columns reloads no page.
  const names = useStable(shown)
  const counted = useQuery(
    query.items.describe.queryOptions({
      input: { ...of, count: true },
      enabled: facts.items === null && !facts.mayGrow,
      retry: false
    })
  )
  const pages = useInfiniteQuery(
    query.items.page.infiniteOptions({
      input: (offset: number) => ({
        ...of,
        offset,
        limit: PAGE_ROWS,
        columns: names,
        filter: conditions,
        ...(sort !== undefined && { sort })
      }),
      initialPageParam: 0,
      getNextPageParam: ({ nextOffset }) => nextOffset ?? undefined,
      placeholderData: keepPreviousData,
      retry: mayPass,
      refetchInterval: ({ state }) => (isCopying(state.error) ? ITEMS_AGAIN_MS : false)
    })
  )
  const { rows, loadMore } = usePages(pages, 'rows')
  const closePane = () => change({ item: undefined, field: undefined, compare: undefined })
  useKeys(texts.items, [{ key: 'Escape', label: texts.closeThePane, run: closePane }])

  const setConditions = (next: ItemCondition[]) => change({ where: formatWhere(next) })
  const addCondition = (one: ItemCondition) => setConditions([...conditions, one].slice(-MOST_CONDITIONS))
  const setSort = (next: ItemsSort | undefined) => change({ sort: next && formatSort(next) })
  const types = new Map(facts.columns.map(({ name, type }) => [name, type]))
  // While other columns are loading, the cells are still those of the previous page.
  const namesOfPage = pages.data?.pages[0]?.columns ?? names
  const { columns, minWidthPx } = itemColumns({
    names: namesOfPage,
    types,
    rows,
    sorted: (name) => (sort?.field !== name ? 'none' : sort.descending ? 'descending' : 'ascending'),
    header: (name) => (
      <FieldHeader
        name={name}
        sort={sort}
        engineProblem={facts.engineProblem}
        onSort={setSort}
        onStatistics={() => change({ field: name, item: undefined, compare: undefined })}
        onOnlyFilled={() => addCondition({ field: name, operator: OPERATOR['not empty'], value: '' })}
        onHide={() => setChosen(names.filter((each) => each !== name))}
      />
    )
  })
  const opened = search.item
  return (
    <>
      <ListHead>
        <ScreenHead title={texts.items} note={<JobLink job={job} attempt={search.attempt} />}>
          <ColumnsMenu columns={facts.columns} hasMoreFields={facts.hasMoreFields} shown={names} onChange={setChosen} />
          <Button
            leftSection={<IconArrowsDiff size={14} />}
            disabled={facts.engineProblem !== null}
            title={facts.engineProblem ?? texts.compareHint}
            onClick={() => change({ compare: true, item: undefined, field: undefined })}
          >
            {texts.compare}
          </Button>
          <ExportMenu of={of} filter={conditions} engineProblem={facts.engineProblem} />
        </ScreenHead>
        <Group gap="6px 14px" justify="space-between">
          <FilterRow columns={facts.columns} conditions={conditions} onChange={setConditions} />
          <span className="dim">{describeFacts(counted.data ?? facts)}</span>
        </Group>
      </ListHead>
      <ListAndPane>
        <Stack gap={0} mih={0} className="grow">
          {pages.data === undefined && pages.error !== null ? (
            <div className={classes.problem}>
              <ItemsProblem job={job} error={pages.error} onRetry={() => void pages.refetch()} />
            </div>
          ) : pages.data === undefined ? (
            <RowsSkeleton rows={16} />
          ) : (
            <VirtualTable
              label={texts.items}
              rows={rows}
              rowId={rowId}
              columns={columns}
              minWidthPx={minWidthPx}
              openId={opened === undefined ? null : String(opened)}
              onOpen={({ index }) =>
                change({ item: index, field: undefined, compare: undefined }, opened !== undefined)
              }
              onEndReached={loadMore}
              isStale={() => pages.isPlaceholderData}
              primary
              empty={
                conditions.length > 0 ? (
                  <NoMatch title={texts.noMatchingItems} onClear={() => setConditions([])} />
                ) : (
                  <EmptyState title={texts.noItems} />
                )
              }
            />
          )}
          {facts.mayGrow && !pages.hasNextPage && pages.data !== undefined && (
            <Group gap={10} wrap="nowrap" className={`${classes.grows} dim`}>
              {texts.stillRunning}
              <Button size="compact-sm" loading={pages.isRefetching} onClick={() => void pages.refetch()}>
                {texts.loadNewItems}
              </Button>
            </Group>
          )}
        </Stack>
        {opened !== undefined && <ItemPane key={opened} of={of} index={opened} onClose={closePane} />}
        {search.field !== undefined && opened === undefined && (
          <FieldPane
            key={search.field}
            of={of}
            field={search.field}
            onValue={(value) =>
              // The engine truncates longer values, so match only the start.
              addCondition({
                field: search.field!,
                operator: value.length < 200 ? OPERATOR.is : OPERATOR['starts with'],
                value
              })
            }
            onClose={closePane}
          />
        )}
        {search.compare && opened === undefined && search.field === undefined && (
          <ComparePane job={job} of={of} columns={facts.columns} onClose={closePane} />
        )}
      </ListAndPane>
    </>
  )
}

const rowId = ({ index }: ItemRow) => String(index)

function ItemPane({ of, index, onClose }: { of: ItemsOf; index: number; onClose: () => void }) {
  const { query } = useApi()
  const item = useQuery(query.items.read.queryOptions({ input: { ...of, index } }))
  return (
    <DetailPane label={texts.item}>
      <PaneHead
        what={texts.theItem}
        onClose={onClose}
        menu={
          item.data && (
            <span className={classes.copy}>
              <CopyButton value={item.data.text} what={texts.theItem} />
            </span>
          )
        }
      >
        <h2>{texts.itemNumber(index + 1)}</h2>
      </PaneHead>
      <QueryState query={item} what={texts.theItem}>
        {({ text, isCut, isReadable }) => (
          <>
            {!isReadable && <p className="tone-bad">{texts.unreadableHint}</p>}
            <pre className={`${classes.whole} box small break`}>{text}</pre>
            {isCut && <p className="dim small">{texts.truncatedHint}</p>}
          </>
        )}
      </QueryState>
    </DetailPane>
  )
}

interface ColumnsMenuProps {
  columns: readonly ItemColumn[]
  hasMoreFields: boolean
  shown: readonly string[]
  onChange: (shown: string[]) => void
}

function ColumnsMenu({ columns, hasMoreFields, shown, onChange }: ColumnsMenuProps) {
  const [search, setSearch] = useState('')
  const isShown = new Set(shown)
  const found = columns.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
  const toggle = (name: string) => {
    const next = new Set(isShown)
    if (!next.delete(name)) next.add(name)
    onChange(columns.map((column) => column.name).filter((each) => next.has(each)))
  }
  return (
    <Popover position="bottom-end" shadow="md" width={260} trapFocus>
      <Popover.Target>
        <Button leftSection={<IconColumns size={14} />}>
          {texts.columns}
          <span className="faint">
            &nbsp;{shown.length}/{columns.length}
          </span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        {columns.length > 12 && (
          <TextInput
            aria-label={texts.findAField}
            placeholder={texts.findAField}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <Stack gap={7} className={classes.columns}>
          {found.map(({ name, type }) => (
            <Checkbox
              key={name}
              label={
                <>
                  {name === '' ? texts.noName : name} <span className="faint">{type}</span>
                </>
              }
              checked={isShown.has(name)}
              disabled={!isShown.has(name) && shown.length >= ITEMS_BOUNDS.pageColumns}
              onChange={() => toggle(name)}
            />
          ))}
        </Stack>
        {hasMoreFields && <p className="dim small">{texts.moreFieldsHint}</p>}
      </Popover.Dropdown>
    </Popover>
  )
}
