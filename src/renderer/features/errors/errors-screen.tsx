import { Badge, Flex, SegmentedControl } from '@mantine/core'
import { IconBug, IconCircleCheck, IconListSearch } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { ErrorGroup, ErrorState, ProjectName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ERROR_STATES, type ErrorsSearch } from '../../state/search.ts'
import { FilterBar } from '../../ui/filter-bar.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { ListScreen, usePages, PAGED } from '../../ui/list-screen.tsx'
import { EmptyState, NoMatch } from '../../ui/states.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { Select } from '../../ui/fields/select.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { ErrorDetail } from './error-detail.tsx'
import { useSetErrorState } from './use-error-actions.ts'
import { Sparkline } from '../../ui/charts/sparkline.tsx'
import { ErrorStateText } from '../../ui/errors/error-group.tsx'
import { formatCount } from '../../ui/numbers.ts'
import type { Column } from '../../ui/table/column.ts'
import { RelativeTime } from '../../ui/time.tsx'
import { texts } from '../../../shared/texts/ui/errors.ts'

const route = getRouteApi('/errors')
const PAGE_ROWS = 100
const ROW_PX = 46

const STATE_LABELS: Record<ErrorState | 'all', string> = {
  open: texts.open,
  resolved: texts.resolved,
  ignored: texts.ignored,
  all: texts.all
}
const NO_ERRORS: typeof STATE_LABELS = {
  open: texts.noOpenErrors,
  resolved: texts.noResolvedErrors,
  ignored: texts.noIgnoredErrors,
  all: texts.noErrorsYet
}
const NO_MATCH_HINTS: typeof STATE_LABELS = {
  open: texts.noOpenMatchHint,
  resolved: texts.noResolvedMatchHint,
  ignored: texts.noIgnoredMatchHint,
  all: texts.noMatchHint
}

export function ErrorsScreen() {
  const { query } = useApi()
  const search: ErrorsSearch = route.useSearch()
  const navigate = route.useNavigate()
  const setState = useSetErrorState()
  const { group: openId, state = 'open', project, spider, version, since, node, text } = search
  const setSearch = (patch: ErrorsSearch, replace = false) =>
    void navigate({ search: (before: ErrorsSearch) => ({ ...before, ...patch }), replace })
  const [typed, setTyped] = useTyped(text, (next) => setSearch({ text: next }, true))

  const list = useInfiniteQuery(
    query.errors.list.infiniteOptions({
      input: (before: string | undefined) => ({
        project,
        spider,
        version,
        firstVersion: since,
        nodeId: node,
        text,
        before,
        limit: PAGE_ROWS,
        state: state === 'all' ? undefined : state
      }),
      ...PAGED
    })
  )
  const nodeName = useNodeName()
  const { rows, loadMore } = usePages(list, 'groups')
  const columns = useMemo(() => errorColumns(state === 'all'), [state])

  const open = (row: ErrorGroup) => setSearch({ group: row.id }, openId !== undefined)
  const close = () => setSearch({ group: undefined })
  const opened = rows.find(({ id }) => id === openId)
  const resolve = (to: ErrorState) => void (opened !== undefined && opened.state === 'open' && setState(opened, to))
  const chips: { key: keyof ErrorsSearch; label: string }[] = [
    ...(spider === undefined ? [] : [{ key: 'spider' as const, label: texts.spiderChip(spider) }]),
    ...(version === undefined ? [] : [{ key: 'version' as const, label: texts.versionChip(version) }]),
    ...(since === undefined ? [] : [{ key: 'since' as const, label: texts.newInVersionChip(since) }]),
    ...(node === undefined ? [] : [{ key: 'node' as const, label: texts.nodeChip(nodeName(node)) }])
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
    <ListScreen
      title={texts.errors}
      note={texts.subtitle}
      filterBox={{
        label: texts.filterErrors,
        placeholder: texts.filterPlaceholder,
        value: typed,
        onChange: setTyped
      }}
      keys={[
        { key: 'r', label: texts.resolveOpenError, run: () => resolve('resolved') },
        { key: 'i', label: texts.ignoreOpenError, run: () => resolve('ignored') },
        { key: 'Escape', label: texts.closeError, run: close }
      ]}
      bar={
        <FilterBar
          chips={chips.map(({ key, label }) => ({ label, onRemove: () => setSearch({ [key]: undefined }, true) }))}
          onClear={isFiltering ? clear : null}
        >
          <SegmentedControl
            aria-label={texts.state}
            size="xs"
            value={state}
            onChange={(value) => setSearch({ state: value === 'open' ? undefined : (value as typeof state) }, true)}
            data={[...ERROR_STATES, 'all' as const].map((value) => ({ value, label: STATE_LABELS[value] }))}
          />
          <ProjectSelect project={project} onChange={(next) => setSearch({ project: next }, true)} />
        </FilterBar>
      }
      query={list}
      what={texts.theErrors}
      table={{
        rows,
        rowId,
        columns,
        openId: openId === undefined ? null : String(openId),
        onOpen: open,
        onEndReached: loadMore,
        rowPx: ROW_PX,
        empty: <NoErrors state={state} isFiltering={isFiltering} onClear={clear} />
      }}
      pane={
        openId !== undefined && (
          <ErrorDetail
            key={openId}
            id={openId}
            nodeName={nodeName}
            onState={setState}
            onFilter={(filter) => setSearch({ ...filter, state: 'all', group: undefined })}
            onClose={close}
          />
        )
      }
    />
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
      aria-label={texts.project}
      placeholder={texts.allProjects}
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
      <NoMatch icon={<IconListSearch size={28} />} title={texts.noMatch} onClear={onClear}>
        {NO_MATCH_HINTS[state]}
      </NoMatch>
    )
  if (state === 'resolved' || state === 'ignored')
    return <EmptyState icon={<IconCircleCheck size={28} />} title={NO_ERRORS[state]} />
  return (
    <EmptyState
      icon={<IconBug size={28} />}
      title={NO_ERRORS[state]}
      action={<LinkButton to="/jobs">{texts.showJobs}</LinkButton>}
    >
      {texts.noErrorsHint}
    </EmptyState>
  )
}

const errorColumns = (showsState: boolean): Column<ErrorGroup>[] => [
  {
    id: 'error',
    header: texts.error,
    width: 'minmax(150px, 3fr)',
    cell: (group) => (
      <span className="lines" title={`${group.title}\n${group.culprit}`}>
        <strong className="ellipsis semibold">{group.title}</strong>
        <span className="ellipsis faint mono tiny">{group.culprit}</span>
      </span>
    )
  },
  ...(showsState
    ? [
        {
          id: 'state',
          header: texts.state,
          width: '96px',
          hideBelowPx: 560,
          cell: (group: ErrorGroup) => <ErrorStateText group={group} />
        }
      ]
    : []),
  {
    id: 'where',
    header: texts.projectSpiders,
    width: 'minmax(96px, 1.2fr)',
    hideBelowPx: 520,
    sortBy: ({ project }) => project,
    cell: (group) => (
      <span className="lines" title={spidersOf(group)}>
        <span className="ellipsis">{group.project}</span>
        <span className="ellipsis dim">{spidersOf(group)}</span>
      </span>
    )
  },
  {
    id: 'version',
    header: texts.newIn,
    width: '150px',
    hideBelowPx: 820,
    cell: (group) => (
      <span className="lines" title={texts.firstLoggedBy(group.firstVersion || texts.unknown)}>
        <span className="ellipsis">{group.firstVersion || '–'}</span>
        {group.versionCount > 1 && <span className="faint">{texts.versionCount(group.versionCount)}</span>}
      </span>
    )
  },
  {
    id: 'series',
    header: texts.sevenDays,
    width: '104px',
    hideBelowPx: 680,
    cell: (group) => <Sparkline values={group.series.counts} tone="bad" width={88} height={26} />
  },
  {
    id: 'jobs',
    header: texts.jobs,
    width: '60px',
    align: 'end',
    hideBelowPx: 460,
    sortBy: ({ jobCount }) => jobCount,
    cell: ({ jobCount }) => formatCount(jobCount)
  },
  {
    id: 'count',
    header: texts.count,
    width: '68px',
    align: 'end',
    sortBy: ({ count }) => count,
    cell: ({ count }) => formatCount(count)
  },
  {
    id: 'first',
    header: texts.firstSeen,
    width: '86px',
    align: 'end',
    hideBelowPx: 960,
    sortBy: ({ firstSeenMs }) => firstSeenMs,
    cell: ({ firstSeenMs }) => (
      <span className="dim">
        <RelativeTime atMs={firstSeenMs} />
      </span>
    )
  },
  {
    id: 'last',
    header: texts.lastSeen,
    width: '86px',
    align: 'end',
    sortBy: ({ lastSeenMs }) => lastSeenMs,
    cell: (group) => (
      <Flex component="span" display="inline-flex" direction="column" align="flex-end">
        <RelativeTime atMs={group.lastSeenMs} />
        {group.reopenedAtMs !== null && (
          <Badge size="xs" color="red" variant="light" title={texts.reopenedHint}>
            {texts.reopenedBadge}
          </Badge>
        )}
      </Flex>
    )
  }
]

/** `listing, offers and 4 more` */
function spidersOf({ spiders, spiderCount }: ErrorGroup): string {
  const shown = spiders.slice(0, 2).join(', ')
  return spiderCount > 2 ? texts.spidersAndMore(shown, spiderCount - 2) : shown
}
