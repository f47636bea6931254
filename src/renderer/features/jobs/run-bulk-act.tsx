import { Box, Button, CloseButton, Group, Progress, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { JobId, JobStatus } from '../../../shared/contract/index.ts'
import { BULK_MAX } from '../../api/read-jobs.ts'
import type { Client } from '../../api/wire.ts'
import { notifyError, showNotice } from '../../ui/notify.tsx'
import { type BulkAct, changeBulkAct, dropBulkAct, putBulkAct, useBulkActs } from './bulk-act-store.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

const POLL_MS = 1_000
/** The maximum number of polls without progress: an unreachable node can keep a job for hours. */
const POLLS_WITHOUT_NEWS_MAX = 30
const SHOWN_AFTER_MS = 10_000

let nextNumber = 1

export interface BulkActPlan {
  doing: BulkAct['doing']
  done: BulkAct['done']
  /** Default: `requested…`. */
  rowWord?: string
  ids: readonly JobId[]
  /** Requests the action for up to 10,000 jobs. Returns those to which it applies, now or soon. */
  ask: (ids: JobId[]) => Promise<readonly JobId[]>
  undo?: ((changed: readonly JobId[]) => Promise<unknown>) | undefined
  /**
   * The action is over for jobs with one of these statuses. Absent: the action is over when the engine has responded.
   */
  until?: readonly JobStatus[]
  /** Describes jobs that have not reached the intended state: `3 still stopping`. */
  pending?: (count: number) => string
  /** Describes jobs to which the action did not apply: `3 had already ended`. */
  skipped: (count: number) => string
  /** In a series of actions on the same jobs (moved up five times), only the newest keeps its notice. */
  series?: string
}

const newestOfSeries = new Map<string, string>()

/** Never throws. */
export async function runBulkAct(client: Client, plan: BulkActPlan): Promise<void> {
  const id = `bulk-${nextNumber++}`
  if (plan.series !== undefined) {
    const earlier = newestOfSeries.get(plan.series)
    if (earlier !== undefined) close(earlier)
    newestOfSeries.set(plan.series, id)
  }
  putBulkAct({ rowWord: texts.rowRequested, ...plan, id, state: 'asked', count: 0, note: null, undo: null })
  showNotice({ id, autoClose: false, withCloseButton: false, message: <BulkActNotice id={id} /> })
  try {
    const changed: JobId[] = []
    for (let from = 0; from < plan.ids.length; from += BULK_MAX) {
      changed.push(...(await plan.ask(plan.ids.slice(from, from + BULK_MAX))))
      changeBulkAct(id, { count: plan.until ? 0 : changed.length })
    }
    const skipped = plan.ids.length - changed.length
    changeBulkAct(id, {
      ids: changed,
      state: 'confirmed',
      note: skipped > 0 ? plan.skipped(skipped) : null,
      undo: plan.undo && changed.length > 0 ? () => plan.undo!(changed) : null
    })
    if (plan.until !== undefined && changed.length > 0) await follow(client, id, changed, plan)
    changeBulkAct(id, { state: 'over' })
    setTimeout(() => close(id), SHOWN_AFTER_MS)
  } catch (error) {
    close(id)
    notifyError(texts.bulkFailed(plan.doing(plan.ids.length)), error)
  }
}

async function follow(client: Client, id: string, ids: readonly JobId[], plan: BulkActPlan): Promise<void> {
  let withoutNews = 0
  let before = -1
  while (withoutNews < POLLS_WITHOUT_NEWS_MAX && useBulkActs.getState().acts.has(id)) {
    const count = await countThere(client, ids, plan.until!)
    const left = ids.length - count
    changeBulkAct(id, { count, note: left > 0 ? (plan.pending?.(left) ?? null) : null })
    if (left === 0) return
    withoutNews = count === before ? withoutNews + 1 : 0
    before = count
    await new Promise((resolve) => setTimeout(resolve, POLL_MS * Math.min(5, 1 + withoutNews)))
  }
}

async function countThere(client: Client, ids: readonly JobId[], until: readonly JobStatus[]): Promise<number> {
  let there = 0
  for (let from = 0; from < ids.length; from += BULK_MAX) {
    const { status } = await client.jobs.count({ ids: ids.slice(from, from + BULK_MAX) })
    for (const { value, count } of status) if (until.includes(value as JobStatus)) there += count
  }
  return there
}

function close(id: string): void {
  notifications.hide(id)
  dropBulkAct(id)
}

export function bulkActWords({ state, doing, done, ids, count }: BulkAct): string {
  return state === 'asked' && count === 0 ? texts.bulkRequested(doing(ids.length)) : done(count, ids.length)
}

function BulkActNotice({ id }: { id: string }) {
  const act = useBulkActs(({ acts }) => acts.get(id))
  if (act === undefined) return null
  const undo = async () => {
    close(id)
    try {
      await act.undo?.()
    } catch (error) {
      notifyError(texts.couldNotUndo, error)
    }
  }
  const isUnderWay = act.state === 'asked' || (act.state === 'confirmed' && act.count < act.ids.length)
  return (
    <Group gap={8} wrap="nowrap">
      <Stack gap={3} className="grow">
        <Box component="span" fw={500} id={`${id}-words`} role="status">
          {bulkActWords(act)}
        </Box>
        {act.note !== null && <span className="dim">{act.note}</span>}
        {isUnderWay && (
          <Progress
            size={4}
            value={(act.count / act.ids.length) * 100}
            animated={act.count === 0}
            striped={act.count === 0}
            aria-label={texts.progress}
          />
        )}
      </Stack>
      {act.undo !== null && (
        <Button aria-describedby={`${id}-words`} onClick={() => void undo()}>
          {texts.undo}
        </Button>
      )}
      <CloseButton size="sm" aria-label={texts.closeAct} onClick={() => close(id)} />
    </Group>
  )
}
