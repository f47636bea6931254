import { Button, SegmentedControl, TextInput } from '@mantine/core'
import { IconDownload, IconHistory, IconShieldCheck, IconX } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { AuditEntry } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay, useMe } from '../../api/use-me.ts'
import { AUDIT_RESULTS, type AuditSearch } from '../../state/search.ts'
import { useNow } from '../../ui/clock.ts'
import { FilterBar } from '../../ui/filter-bar.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { ListScreen, usePages, PAGED } from '../../ui/list-screen.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { EmptyState, NoMatch, RowsSkeleton } from '../../ui/states.tsx'
import { useDownload } from '../../ui/use-download.ts'
import { Select } from '../../ui/fields/select.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { AUDIT_COLUMNS } from './audit-columns.tsx'
import { AuditDetail } from './audit-detail.tsx'
import { texts } from '../../../shared/texts/ui/audit.ts'

const route = getRouteApi('/audit')
const PAGE_ROWS = 100
const ROW_PX = 40
/** The polling interval. The change feed does not announce new entries. */
const READ_AGAIN_MS = 15_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const EXPORTED_AT_ONCE = 500

const PERIODS = [
  { value: '1', label: texts.lastHour },
  { value: '24', label: texts.last24Hours },
  { value: '168', label: texts.last7Days },
  { value: '720', label: texts.last30Days }
]
const NO_FILTER: AuditSearch = {
  result: undefined,
  who: undefined,
  operation: undefined,
  project: undefined,
  hours: undefined,
  text: undefined
}

export function AuditScreen() {
  const me = useMe()
  const { may, why } = useMay('audit.read')
  // Without the permission, send no request: a refused request would itself add an entry.
  if (me.isPending) return <RowsSkeleton />
  if (may) return <AuditLog />
  return (
    <EmptyState icon={<IconHistory size={28} stroke={1.4} />} title={texts.adminsOnly}>
      {why}
    </EmptyState>
  )
}

function AuditLog() {
  const { query } = useApi()
  const search: AuditSearch = route.useSearch()
  const navigate = route.useNavigate()
  const { entry: openSeq, result, who, operation, project, hours, text } = search
  const setSearch = (patch: AuditSearch, replace = false) =>
    void navigate({ search: (before: AuditSearch) => ({ ...before, ...patch }), replace })
  const [typed, setTyped] = useTyped(text, (next) => setSearch({ text: next }, true))
  const [typedWho, setTypedWho] = useTyped(who, (next) => setSearch({ who: next }, true))
  const [typedOperation, setTypedOperation] = useTyped(operation, (next) => setSearch({ operation: next }, true))
  // Rounded to the minute, because a value that changes every second would create a new query every second.
  const minute = Math.floor(useNow() / MINUTE_MS)
  const fromMs = hours === undefined ? undefined : Math.max(0, minute * MINUTE_MS - hours * HOUR_MS)

  const list = useInfiniteQuery(
    query.audit.list.infiniteOptions({
      input: (before: number | undefined) => ({
        result,
        who,
        operation,
        project,
        fromMs,
        text,
        before,
        limit: PAGE_ROWS
      }),
      ...PAGED,
      staleTime: 0,
      refetchInterval: ({ state }) => (state.data === undefined || state.data.pages.length > 1 ? false : READ_AGAIN_MS)
    })
  )
  const { rows, loadMore } = usePages(list, 'entries')
  const { hasNextPage, isFetching, fetchNextPage } = list
  // The engine scans a limited number of entries per page, so a page can be empty although more matches follow.
  const isSearching = rows.length === 0 && hasNextPage
  useEffect(() => {
    if (isSearching && !isFetching) void fetchNextPage()
  }, [isSearching, isFetching, fetchNextPage])

  const close = () => setSearch({ entry: undefined })
  const clear = () => {
    setTyped('')
    setTypedWho('')
    setTypedOperation('')
    setSearch(NO_FILTER, true)
  }
  const isFiltering = [result, who, operation, project, hours, text].some((filter) => filter !== undefined)
  return (
    <ListScreen
      title={texts.auditLog}
      note={texts.subtitle}
      before={
        <>
          <VerifyButton />
          <ExportButton />
        </>
      }
      filterBox={{
        label: texts.filterEntries,
        placeholder: texts.filterPlaceholder,
        value: typed,
        onChange: setTyped
      }}
      keys={[{ key: 'Escape', label: texts.closeEntry, run: close }]}
      bar={
        <FilterBar
          chips={
            project === undefined
              ? []
              : [{ label: texts.projectChip(project), onRemove: () => setSearch({ project: undefined }, true) }]
          }
          onClear={isFiltering ? clear : null}
        >
          <SegmentedControl
            aria-label={texts.result}
            size="xs"
            value={result ?? 'all'}
            onChange={(value) => setSearch({ result: AUDIT_RESULTS.find((one) => one === value) }, true)}
            data={[
              { value: 'all', label: texts.all },
              { value: 'done', label: texts.done },
              { value: 'refused', label: texts.refused },
              { value: 'failed', label: texts.failedRequests }
            ]}
          />
          <TextInput
            size="xs"
            aria-label={texts.userOrToken}
            placeholder={texts.userOrTokenPlaceholder}
            value={typedWho}
            onChange={(event) => setTypedWho(event.currentTarget.value)}
          />
          <TextInput
            size="xs"
            aria-label={texts.operation}
            placeholder={texts.operationPlaceholder}
            value={typedOperation}
            onChange={(event) => setTypedOperation(event.currentTarget.value)}
          />
          <Select
            size="xs"
            aria-label={texts.period}
            placeholder={texts.anyTime}
            clearable
            data={PERIODS}
            value={hours === undefined ? null : String(hours)}
            onChange={(value) => setSearch({ hours: value === null ? undefined : Number(value) }, true)}
          />
        </FilterBar>
      }
      query={list}
      what={texts.theAuditLog}
      isLoading={isSearching}
      table={{
        rows,
        rowId,
        columns: AUDIT_COLUMNS,
        openId: openSeq === undefined ? null : String(openSeq),
        onOpen: (row) => setSearch({ entry: row.seq }, openSeq !== undefined),
        onEndReached: loadMore,
        rowPx: ROW_PX,
        empty: <NoEntries isFiltering={isFiltering} onClear={clear} />
      }}
      pane={
        openSeq !== undefined && (
          <AuditDetail key={openSeq} seq={openSeq} known={rows.find(({ seq }) => seq === openSeq)} onClose={close} />
        )
      }
    />
  )
}

const rowId = ({ seq }: AuditEntry) => String(seq)

function NoEntries({ isFiltering, onClear }: { isFiltering: boolean; onClear: () => void }) {
  if (isFiltering) {
    return (
      <NoMatch title={texts.noMatch} onClear={onClear}>
        {texts.noMatchHint}
      </NoMatch>
    )
  }
  return (
    <EmptyState icon={<IconHistory size={28} stroke={1.4} />} title={texts.noEntriesYet}>
      {texts.noEntriesHint}
    </EmptyState>
  )
}

function VerifyButton() {
  const { client, query } = useApi()
  const verify = useMutation({
    mutationKey: query.audit.verify.key(),
    mutationFn: () => client.audit.verify({}),
    onError: (error) => notifyError(texts.couldNotVerify, error)
  })
  const { data } = verify
  return (
    <>
      {data !== undefined && !verify.isPending && (
        <span role="status" className={data.broken === null ? 'tone-ok' : 'tone-bad'} title={data.broken?.problem}>
          {data.broken === null ? texts.allHashesMatch(data.checked) : texts.hashDoesNotMatch(data.broken.seq)}
        </span>
      )}
      <Button
        leftSection={<IconShieldCheck size={14} />}
        loading={verify.isPending}
        onClick={() => verify.mutate()}
        title={texts.verifyHint}
      >
        {texts.verify}
      </Button>
    </>
  )
}

function ExportButton() {
  const { client } = useApi()
  const { progress, start, cancel } = useDownload(texts.couldNotExport)
  const download = async (signal: AbortSignal) => {
    const parts: string[] = []
    let count = 0
    for (let after: number | null = 0; after !== null; ) {
      const page: Awaited<ReturnType<typeof client.audit.export>> = await client.audit.export(
        { after, limit: EXPORTED_AT_ONCE },
        { signal }
      )
      parts.push(page.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
      count += page.entries.length
      after = page.nextAfter
    }
    saveFile('scrapdeck-audit.jsonl', parts, 'application/x-ndjson')
    return texts.entriesExported(count)
  }
  return progress === null ? (
    <Button leftSection={<IconDownload size={14} />} onClick={() => void start(download)} title={texts.exportHint}>
      {texts.exportItems}
    </Button>
  ) : (
    <Button leftSection={<IconX size={14} />} onClick={cancel}>
      {texts.cancelExport}
    </Button>
  )
}
