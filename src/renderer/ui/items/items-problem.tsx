import { Progress, Stack } from '@mantine/core'
import { IconTable } from '@tabler/icons-react'
import type { Job } from '../../../shared/contract/index.ts'
import { explainError } from '../../api/explain-error.ts'
import { formatBytes } from '../numbers.ts'
import { EmptyState, ErrorState } from '../states.tsx'
import classes from './items.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

/** The refetch interval while items are being copied or the run writes more. */
export const ITEMS_AGAIN_MS = 3_000

export const isCopying = (error: unknown): boolean => error !== null && explainError(error).code === 'ITEMS_COPYING'

export const mayPass = (failures: number, error: unknown): boolean =>
  failures < 2 && ['NODE_UNREACHABLE', null].includes(explainError(error).code)

export function ItemsProblem({ job, error, onRetry }: { job: Job | undefined; error: unknown; onRetry: () => void }) {
  const { code } = explainError(error)
  if (code === 'ITEMS_COPYING') return <Copying error={error} />
  if (code !== 'ITEMS_NOT_FOUND') return <ErrorState what={texts.theItems} error={error} onRetry={onRetry} />
  const icon = <IconTable size={28} />
  if (job?.state === 'queued')
    return (
      <EmptyState icon={icon} title={texts.noItemsYet}>
        {texts.jobNotStarted}
      </EmptyState>
    )
  if (job !== undefined && job.state !== 'ended')
    return (
      <EmptyState icon={icon} title={texts.noItemsYet}>
        {texts.noItemsYetHint}
      </EmptyState>
    )
  const reason = reasonIn(error)
  if (reason !== null)
    return (
      <EmptyState icon={icon} title={texts.itemsUnavailable}>
        {reason}
      </EmptyState>
    )
  const scraped = job?.items ?? 0
  return (
    <EmptyState icon={icon} title={scraped > 0 ? texts.itemsUnavailable : texts.noItems}>
      {scraped > 0 ? texts.itemsUnavailableHint : texts.noItemsHint}
    </EmptyState>
  )
}

/** Why stored items no longer exist. null: no items were stored. */
function reasonIn(error: unknown): string | null {
  // Other errors with this code have other data or none.
  const { data } = error as { data?: object | null }
  return data != null && 'deletedAtMs' in data ? explainError(error).text : null
}

function Copying({ error }: { error: unknown }) {
  const { copiedBytes = 0, sizeBytes = 0 } = ((error as { data?: object }).data ?? {}) as Record<string, number>
  const share = sizeBytes === 0 ? 0 : (100 * copiedBytes) / sizeBytes
  return (
    <Stack gap={8} maw={420} py={18} className={classes.copying} role="status">
      <strong>{texts.copyingItems}</strong>
      <Progress value={share} aria-label={texts.valueCopied} />
      <p>{texts.copiedOf(formatBytes(copiedBytes), formatBytes(sizeBytes))}</p>
    </Stack>
  )
}
