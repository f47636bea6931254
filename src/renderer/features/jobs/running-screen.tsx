import { Box, Button } from '@mantine/core'
import { IconActivity } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { RunningJob, Node, NodeId } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { useApi } from '../../api/api.tsx'
import { cancelExternal, externalId } from '../../state/cancel-external.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { joinFacts, formatCount, formatCpuShare, formatMemory } from '../../ui/numbers.ts'
import { ListScreen, matchesFilter } from '../../ui/list-screen.tsx'
import { SpiderName } from '../../ui/spider-name.tsx'
import { EmptyState, NoMatch } from '../../ui/states.tsx'
import type { Column } from '../../ui/table/column.ts'
import { Runtime } from '../../ui/time.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { useStable } from '../../ui/use-stable.ts'
import { CancelCell } from './cancel-cell.tsx'
import { type AwayOf, JobStatusCell } from './job-columns.tsx'
import { useAway } from './use-away.ts'
import { useJobActions } from './use-job-actions.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

/** All runs in the fleet, including external ones. */
export function RunningScreen() {
  const { client, query } = useApi()
  const navigate = useNavigate()
  const actions = useJobActions()
  const running = useQuery(query.jobs.running.queryOptions())
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const [filter, setFilter] = useState('')
  const nameOf = useNodeName()
  const nodeName = useCallback((id: string | null) => (id === null ? '' : nameOf(id)), [nameOf])
  const awayOf = useAway(fleet?.nodes)
  const cancel = useCallback(
    (row: RunningRow) =>
      isExternal(row)
        ? cancelExternal(client, { id: row.nodeId, name: nodeName(row.nodeId) }, row)
        : actions.cancelOne(row),
    [client, nodeName, actions]
  )
  const mayRun = useMay('jobs.run').may
  const mayCancel = useMay('jobs.cancel').may
  const columns = useMemo(
    () => runningColumns(nodeName, awayOf, mayCancel ? cancel : null),
    [nodeName, awayOf, mayCancel, cancel]
  )
  const isStale = useCallback((row: RunningRow) => awayOf(row) !== null, [awayOf])
  const external = useStable(externalRows(fleet?.nodes ?? []))
  const rows = useMemo(
    () =>
      [...(running.data?.jobs ?? []), ...external].filter((row) => {
        const { project, spider, nodeId, sentVersion, pid } = row
        const kind = isExternal(row) ? texts.external : ''
        return matchesFilter(filter, [project, spider, nodeName(nodeId), sentVersion, pid, kind])
      }),
    [running.data, external, filter, nodeName]
  )

  return (
    <ListScreen
      title={texts.running}
      note={running.data && totalsOf(running.data.jobs, running.data.total, external.length)}
      filterBox={{
        label: texts.filterRunningJobs,
        placeholder: texts.filterRunningPlaceholder,
        value: filter,
        onChange: setFilter
      }}
      query={running}
      what={texts.theRunningJobs}
      table={{
        label: texts.runningJobs,
        rows,
        rowId: idOf,
        columns,
        onOpen: (row) =>
          void navigate(
            isExternal(row) ? { to: '/nodes', search: { node: row.nodeId } } : { to: '/jobs', search: { job: row.id } }
          ),
        isStale,
        empty:
          filter === '' ? (
            <EmptyState
              icon={<IconActivity size={28} />}
              title={texts.nothingIsRunning}
              action={
                mayRun && (
                  <Button variant="filled" onClick={() => openRunDialog()}>
                    {texts.runSpider}
                  </Button>
                )
              }
            >
              {texts.nothingRunningHint}
            </EmptyState>
          ) : (
            <NoMatch title={texts.noMatchingRunningJobs(filter)} onClear={() => setFilter('')} />
          )
      }}
    />
  )
}

const idOf = ({ id }: RunningRow): string => id

/** `12 jobs · 2 external · 1.4 GB on this computer · 840 pages/min` */
function totalsOf(jobs: readonly RunningJob[], total: number, external: number): string {
  const sum = (valueOf: (job: RunningJob) => number | null | undefined) =>
    jobs.reduce((all, job) => all + (valueOf(job) ?? 0), 0)
  const memoryBytes = sum(({ usage }) => usage?.memoryBytes)
  const pages = Math.round(sum(({ pagesPerMinute }) => pagesPerMinute))
  return joinFacts(
    total > jobs.length ? texts.oldestJobs(jobs.length, total) : texts.jobCount(total),
    external > 0 && texts.externalCount(external),
    memoryBytes > 0 && texts.memoryOnThisComputer(formatMemory(memoryBytes)),
    pages > 0 && texts.pageRate(pages)
  )
}

function runningColumns(
  nodeName: (id: string | null) => string,
  awayOf: AwayOf,
  cancel: ((row: RunningRow) => unknown) | null
): Column<RunningRow>[] {
  return [
    {
      id: 'status',
      header: texts.status,
      width: '114px',
      hideBelowPx: 480,
      sortBy: ({ status }) => status,
      cell: (job) => <JobStatusCell job={job} away={awayOf(job)} />
    },
    {
      id: 'spider',
      header: texts.spider,
      width: 'minmax(120px, 2fr)',
      sortBy: ({ project, spider }) => `${project}/${spider}`,
      cell: (row) => (
        <SpiderName project={row.project} spider={row.spider}>
          {isExternal(row) && (
            <Box component="span" ml={6} className="faint fixed" title={texts.externalHint(row.jobid)}>
              {` ${texts.external}`}
            </Box>
          )}
        </SpiderName>
      )
    },
    {
      id: 'node',
      header: texts.node,
      width: 'minmax(116px, 1fr)',
      hideBelowPx: 560,
      sortBy: ({ nodeId }) => nodeName(nodeId),
      cell: ({ nodeId }) => (
        <span className="dim ellipsis" title={nodeName(nodeId)}>
          {nodeName(nodeId)}
        </span>
      )
    },
    {
      id: 'pid',
      header: texts.pid,
      width: '70px',
      align: 'end',
      hideBelowPx: 880,
      sortBy: ({ pid }) => pid,
      cell: ({ pid }) => <Value value={pid} format={String} />
    },
    {
      id: 'cpu',
      header: texts.cpu,
      width: '62px',
      align: 'end',
      hideBelowPx: 720,
      sortBy: ({ usage }) => usage?.cpuShare ?? null,
      cell: ({ usage }) => <Value value={usage?.cpuShare} format={formatCpuShare} />
    },
    {
      id: 'memory',
      header: texts.memory,
      width: '78px',
      align: 'end',
      hideBelowPx: 660,
      sortBy: ({ usage }) => usage?.memoryBytes ?? null,
      cell: ({ usage }) => <Value value={usage?.memoryBytes} format={formatMemory} />
    },
    ...COUNTS.map(
      ({ id, header, width, hideBelowPx, valueOf, isBad }): Column<RunningRow> => ({
        id,
        width,
        align: 'end',
        sortBy: valueOf,
        ...(hideBelowPx !== undefined && { hideBelowPx }),
        header,
        cell: (job) => <Value value={valueOf(job)} format={formatCount} isBad={isBad} />
      })
    ),
    {
      id: 'runtime',
      header: texts.runtime,
      width: '78px',
      align: 'end',
      sortBy: ({ startedAtMs }) => (startedAtMs === null ? null : -startedAtMs),
      // If the node is unreachable, the clock stops at the last response.
      cell: (job) => <Runtime startedAtMs={job.startedAtMs} endedAtMs={awayOf(job)?.lastSeenAtMs ?? null} />
    },
    {
      id: 'cancel',
      header: <span className="visually-hidden">{texts.cancel}</span>,
      width: '40px',
      align: 'end',
      cell: (job) => cancel && <CancelCell job={job} cancel={cancel} />
    }
  ]
}

interface CountColumn {
  id: string
  header: string
  width: string
  hideBelowPx?: number
  valueOf: (job: RunningRow) => number | null
  isBad?: boolean
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value))

const COUNTS: readonly CountColumn[] = [
  { id: 'pages', header: texts.pages, width: '70px', hideBelowPx: 620, valueOf: ({ pages }) => pages },
  {
    id: 'pageRate',
    header: texts.pagesPerMin,
    width: '84px',
    hideBelowPx: 940,
    valueOf: ({ pagesPerMinute }) => rounded(pagesPerMinute)
  },
  { id: 'items', header: texts.items, width: '70px', hideBelowPx: 400, valueOf: ({ items }) => items },
  {
    id: 'itemRate',
    header: texts.itemsPerMin,
    width: '84px',
    hideBelowPx: 940,
    valueOf: ({ itemsPerMinute }) => rounded(itemsPerMinute)
  },
  { id: 'errors', header: texts.errors, width: '62px', valueOf: ({ errors }) => errors, isBad: true }
]

function Value({
  value,
  format,
  isBad = false
}: {
  value: number | null | undefined
  format: (value: number) => string
  isBad?: boolean | undefined
}) {
  if (value === null || value === undefined) return <span className="faint">–</span>
  return <span className={!isBad ? undefined : value > 0 ? 'tone-bad' : 'faint'}>{format(value)}</span>
}

/** A job started outside Scrapdeck, with the columns of our own jobs. Its node fills only some columns. */
interface ExternalRow extends Omit<RunningJob, 'id' | 'nodeId' | 'attemptCount' | 'sentAtMs'> {
  id: string
  jobid: string
  nodeId: NodeId
}

type RunningRow = RunningJob | ExternalRow

const isExternal = (row: RunningRow): row is ExternalRow => 'jobid' in row

const UNKNOWN = {
  sentVersion: null,
  cancelAskedAtMs: null,
  unknownSinceMs: null,
  usage: null,
  pages: null,
  items: null,
  errors: null,
  pagesPerMinute: null,
  itemsPerMinute: null
} as const

function externalRows(nodes: readonly Pick<Node, 'id' | 'runs'>[]): ExternalRow[] {
  return nodes.flatMap(({ id: nodeId, runs }) =>
    runs.flatMap(({ jobId, jobid, project, spider, state, sinceMs, pid }) => {
      if (jobId !== null) return []
      const startedAtMs = state === 'running' ? sinceMs : null
      const id = externalId(nodeId, { project, jobid })
      return [{ ...UNKNOWN, id, jobid, project, spider, nodeId, state, status: state, startedAtMs, pid }]
    })
  )
}
