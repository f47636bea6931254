import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import { formatCount, joinFacts } from '../../ui/numbers.ts'
import { ScreenHead, Panel, PanelsScreen } from '../../ui/panel.tsx'
import { splitSlots } from '../../ui/slots-in-use.ts'
import { LimitsPanel } from './limits-panel.tsx'
import { ProjectShares } from './project-shares.tsx'
import classes from './queue-screen.module.css'
import { useNavigate } from '@tanstack/react-router'
import type { LaneSummary } from '../../../shared/contract/index.ts'
import { SpiderName } from '../../ui/spider-name.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import type { Column } from '../../ui/table/column.ts'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { WaitingText } from '../../ui/waiting.tsx'
import { texts } from '../../../shared/texts/ui/queue.ts'

export function QueueScreen() {
  const { query } = useApi()
  const figures = useQuery(query.system.status.queryOptions()).data?.figures
  const slots = figures && splitSlots(figures.slotsUsed, figures.slotsTotal)
  return (
    <PanelsScreen>
      <ScreenHead
        title={texts.queue}
        note={
          slots &&
          joinFacts(
            texts.queuedJobs(figures.queued),
            slots.over === null
              ? texts.slotsInUse(slots.inUse, figures.slotsTotal)
              : texts.slotsInUseQueuedOnNodes(slots.inUse, figures.slotsTotal, slots.over),
            figures.paused && texts.paused
          )
        }
      />
      <div className={classes.columns}>
        <Stack gap={12} miw={0}>
          <LanesPanel queued={figures?.queued ?? null} />
          <LimitsPanel />
        </Stack>
        <ProjectShares />
      </div>
    </PanelsScreen>
  )
}

const LANES_SHOWN = 500

function LanesPanel({ queued }: { queued: number | null }) {
  const { query } = useApi()
  const navigate = useNavigate()
  const lanes = useQuery(
    query.queue.lanes.queryOptions({ input: { limit: LANES_SHOWN }, refetchInterval: 2_000, staleTime: 0 })
  )
  return (
    <Panel title={texts.waitingJobs} note={lanes.data && countWords(lanes.data, queued)} flush>
      <QueryState query={lanes} what={texts.theQueue} rows={5}>
        {(data) => (
          <div className={classes.lanes} style={{ height: Math.min(296, 32 + Math.max(4, data.lanes.length) * 32) }}>
            <VirtualTable
              label={texts.lanesLabel}
              rows={data.lanes}
              rowId={laneId}
              columns={COLUMNS}
              onOpen={({ project, spider }) =>
                void navigate({ to: '/jobs', search: { status: ['queued'], project, spider } })
              }
              primary
              empty={<EmptyState title={texts.theQueueIsEmpty}>{texts.queueHint}</EmptyState>}
            />
          </div>
        )}
      </QueryState>
    </Panel>
  )
}

const laneId = ({ lane }: LaneSummary) => lane

const COLUMNS: Column<LaneSummary>[] = [
  {
    id: 'spider',
    header: texts.spider,
    width: 'minmax(104px, 1fr)',
    sortBy: ({ project, spider }) => `${project}/${spider}`,
    cell: ({ project, spider }) => <SpiderName project={project} spider={spider} />
  },
  {
    id: 'depth',
    header: texts.jobs,
    width: '56px',
    align: 'end',
    sortBy: ({ depth }) => depth,
    cell: ({ depth }) => formatCount(depth)
  },
  {
    id: 'waiting',
    header: texts.waitingFor,
    width: 'minmax(160px, 2fr)',
    sortBy: ({ waiting }) => waiting.text,
    cell: ({ waiting }) => (
      <span className="tone-wait">
        <WaitingText waiting={waiting} />
      </span>
    )
  }
]

function countWords({ lanes, total }: { lanes: readonly LaneSummary[]; total: number }, queued: number | null): string {
  const inLanes = lanes.reduce((sum, { depth }) => sum + depth, 0)
  const held = queued === null || total > lanes.length ? 0 : queued - inLanes
  return joinFacts(
    total > lanes.length ? texts.largestLanes(lanes.length, total) : texts.lanes(total),
    held > 0 && texts.heldJobs(held)
  )
}
