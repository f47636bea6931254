import { Flex, Group, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Job } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ExportMenu } from '../../ui/items/export-menu.tsx'
import { type ItemsOf, describeFacts } from '../../ui/items/items-facts.ts'
import { itemColumns } from '../../ui/items/item-columns.tsx'
import { isCopying, ITEMS_AGAIN_MS, ItemsProblem, mayPass } from '../../ui/items/items-problem.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { RowsSkeleton } from '../../ui/states.tsx'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { AttemptSelect } from './attempt-select.tsx'
import type { JobLogProps } from './job-log.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const SHOWN = 100

export function JobItems({ detail: { job, attempts }, attemptNumber, onAttempt, nodeName }: JobLogProps) {
  const number = attemptNumber ?? attempts.at(-1)?.number
  return (
    <>
      <AttemptSelect attempts={attempts} number={number} onAttempt={onAttempt} nodeName={nodeName} />
      <FirstItems key={number} job={job} of={{ jobId: job.id, attemptNumber }} nodeName={nodeName} />
    </>
  )
}

function FirstItems({ job, of, nodeName }: { job: Job; of: ItemsOf; nodeName: (id: string) => string }) {
  const api = useApi()
  const mayGrow = job.state !== 'ended'
  const again = (error: unknown) => (mayGrow || isCopying(error) ? ITEMS_AGAIN_MS : false)
  const facts = useQuery(
    api.query.items.describe.queryOptions({
      input: of,
      retry: mayPass,
      refetchInterval: ({ state }) => again(state.error)
    })
  )
  const page = useQuery(
    api.query.items.page.queryOptions({
      input: { ...of, limit: SHOWN },
      enabled: facts.isSuccess,
      retry: mayPass,
      refetchInterval: ({ state }) => (state.data?.rows.length === SHOWN ? false : again(state.error))
    })
  )
  const { error } = facts.data === undefined ? facts : page
  if (error !== null && page.data === undefined)
    return <ItemsProblem job={job} error={error} onRetry={() => void Promise.all([facts.refetch(), page.refetch()])} />
  if (facts.data === undefined || page.data === undefined) return <RowsSkeleton rows={8} />

  const types = new Map(facts.data.columns.map(({ name, type }) => [name, type]))
  const { columns, minWidthPx } = itemColumns({ names: page.data.columns, types, rows: page.data.rows })
  return (
    <Stack gap={8} mih={320} className="grow">
      <Group gap="6px 12px" justify="space-between">
        <span className="dim">
          {joinFacts(
            describeFacts(facts.data),
            facts.data.from === 'node' && facts.data.nodeId !== null && texts.onNode(nodeName(facts.data.nodeId))
          )}
        </span>
        <Flex component="span" display="inline-flex" gap={8}>
          <ExportMenu of={of} engineProblem={facts.data.engineProblem} />
          <LinkButton to="/items" search={{ job: job.id, attempt: of.attemptNumber } as never}>
            {texts.openAllItems}
          </LinkButton>
        </Flex>
      </Group>
      <VirtualTable
        label={texts.items}
        rows={page.data.rows}
        rowId={rowId}
        columns={columns}
        minWidthPx={minWidthPx}
        rowPx={28}
        empty={<p className="dim">{mayGrow ? texts.noItemsYet : texts.noItems}</p>}
      />
      {page.data.nextOffset !== null && <p className="faint">{texts.firstShown(SHOWN)}</p>}
    </Stack>
  )
}

const rowId = ({ index }: { index: number }) => String(index)
