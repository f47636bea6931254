import { Dialog } from '../../../ui/dialog.tsx'
import { Button, Checkbox, Group, NumberInput, Progress, Stack, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { Backfill, Schedule } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import type { Client } from '../../../api/wire.ts'
import { ChoiceField, optionsOf } from '../../../ui/fields/choice-field.tsx'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import { useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../../ui/fields/schema-form.tsx'
import { numberText } from '../../../ui/fields/texts.ts'
import { missedSinceMs } from '../schedule-words.ts'
import { formatMoment, fromLocalInput, toLocalInput } from '../zoned-time.ts'
import fields from '../../../ui/fields/form.module.css'
import classes from './schedule-detail.module.css'
import { Link } from '@tanstack/react-router'
import { cancelSoon, undoCancel, usePendingCancels } from '../../../ui/cancel-grace.tsx'
import { notifyDone, notifyError } from '../../../ui/notify.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const DAY_MS = 86_400_000
const CONCURRENCY_MAX = 1_000
/** The number of runs to list at the start and at the end. Runs between them are only counted. */
const MOMENTS_SHOWN = 3

/** Creates the runs of a past period. First shows how many runs there are. */
export function BackfillDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const { client, query } = useApi()
  const [nowMs] = useState(() => Date.now())
  const [schema] = useState(() => backfillForm(schedule.zone, nowMs))
  const form = useFormOf<BackfillTexts, z.output<typeof schema>>({
    schema,
    start: () => startForm(schedule, nowMs),
    save: async (range) => {
      await client.schedules.backfill({ ...range, id: schedule.id })
      onClose()
    }
  })
  const fromMs = form.output?.fromMs ?? 0
  const untilMs = form.output?.untilMs ?? 0
  const [settled] = useDebouncedValue({ id: schedule.id, fromMs, untilMs }, 200)
  const plan = useQuery({
    ...query.schedules.planBackfill.queryOptions({ input: settled }),
    enabled: form.output !== null,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0
  })
  const isCounted =
    form.output !== null &&
    plan.data !== undefined &&
    !plan.isFetching &&
    settled.fromMs === fromMs &&
    settled.untilMs === untilMs
  const ago = (days: number) =>
    form.change({
      fromMs: toLocalInput(nowMs - days * DAY_MS, schedule.zone).slice(0, 16),
      untilMs: toLocalInput(nowMs, schedule.zone).slice(0, 16)
    })
  return (
    <Dialog opened onClose={onClose} title={texts.backfillTitle(schedule.name)} size={540}>
      <SchemaForm form={form} gap={12}>
        <div className={fields.pair}>
          <TextInput {...form.input('fromMs')} type="datetime-local" label={texts.from} description={schedule.zone} />
          <TextInput {...form.input('untilMs')} type="datetime-local" label={texts.until} description={schedule.zone} />
        </div>
        <Group align="stretch" gap={6}>
          {[1, 7, 30].map((days) => (
            <Button key={days} size="compact-xs" onClick={() => ago(days)}>
              {days === 1 ? texts.last24Hours : texts.lastDays(days)}
            </Button>
          ))}
        </Group>
        <Stack gap={4} className={`${classes.plan} box`} role="status" aria-label={texts.preview}>
          {form.output === null ? (
            <span className="faint">{texts.chooseTimeRange}</span>
          ) : plan.isError ? (
            <FormFailure error={plan.error} />
          ) : plan.data === undefined ? (
            <span className="faint">{texts.counting}</span>
          ) : (
            <Plan schedule={schedule} plan={plan.data} nowMs={nowMs} />
          )}
        </Stack>
        <div className={fields.pair}>
          <ChoiceField
            {...form.input('order')}
            label={texts.order}
            data={optionsOf({ oldest_first: texts.oldestFirst, newest_first: texts.newestFirst })}
          />
          <NumberInput {...form.input('concurrency')} label={texts.runsAtATime} min={1} max={CONCURRENCY_MAX} />
        </div>
        <FormFoot
          form={form}
          submit={isCounted && plan.data.count > 0 ? texts.runJobsCount(plan.data.jobs) : texts.runJobs}
          isDisabled={form.output !== null && !(isCounted && plan.data.count > 0)}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

/** The fields are named as in the contract. Times are in the schedule's zone. */
interface BackfillTexts {
  fromMs: string
  untilMs: string
  order: Backfill['order']
  concurrency: number | string
}

const backfillForm = (zone: string, nowMs: number) => {
  const moment = z
    .string()
    .min(1, texts.enterTime)
    .transform((text) => fromLocalInput(text, zone) ?? 0)
  return z
    .object({
      fromMs: moment.refine((fromMs) => fromMs <= nowMs, texts.startsInFuture),
      untilMs: moment,
      order: z.enum(['oldest_first', 'newest_first']),
      concurrency: numberText(z.int().min(1).max(CONCURRENCY_MAX), 1)
    })
    .refine(({ fromMs, untilMs }) => fromMs < untilMs, { path: ['untilMs'], error: texts.endsBeforeStart })
}

interface PlanProps {
  schedule: Schedule
  plan: Awaited<ReturnType<Client['schedules']['planBackfill']>>
  nowMs: number
}

function Plan({ schedule, plan, nowMs }: PlanProps) {
  const { count, jobs, alreadyRun, forgotten, first, last } = plan
  const moment = (atMs: number) => formatMoment(atMs, schedule.zone, nowMs)
  const unknown = forgotten === 0 ? '' : texts.forgottenRuns(forgotten)
  if (count === 0)
    return (
      <span>
        <strong>{texts.nothingToRun}</strong>{' '}
        {alreadyRun === 0
          ? unknown || texts.noRunsInRange
          : forgotten === 0
            ? texts.allRunsRan(alreadyRun)
            : `${texts.someRunsRan(alreadyRun)} ${unknown}`}
      </span>
    )
  const known = [...new Set([...first, ...last].map(({ nominalMs }) => nominalMs))]
  // A long list would push the fields for order and concurrency out of view.
  const edge = known.length === count && count <= 2 * MOMENTS_SHOWN + 1 ? count : MOMENTS_SHOWN
  const firsts = known.slice(0, edge)
  const lasts = known.slice(Math.max(edge, known.length - edge))
  const between = count - firsts.length - lasts.length
  return (
    <>
      <span>
        <strong>{texts.runsAndJobs(count, jobs)}</strong>
        <span className="dim">
          {alreadyRun > 0 && ` ${texts.runsLeftOut(alreadyRun)}`}
          {unknown && ` ${unknown}`}
        </span>
      </span>
      <ul className="dim">
        {firsts.map((atMs) => (
          <li key={atMs}>{moment(atMs)}</li>
        ))}
        {between > 0 && <li className="faint">{texts.runsBetween(between)}</li>}
        {lasts.map((atMs) => (
          <li key={atMs}>{moment(atMs)}</li>
        ))}
      </ul>
    </>
  )
}

/** Starts with the missed period or, if there is none, with the last week. */
function startForm(schedule: Schedule, nowMs: number): BackfillTexts {
  return {
    fromMs: toLocalInput(missedSinceMs(schedule) ?? nowMs - 7 * DAY_MS, schedule.zone).slice(0, 16),
    untilMs: toLocalInput(nowMs, schedule.zone).slice(0, 16),
    order: 'oldest_first',
    concurrency: 1
  }
}

/** Stays visible after the backfill has ended, until the next one starts. */
export function BackfillProgress({ schedule, backfill }: { schedule: Schedule; backfill: Backfill }) {
  const { query } = useApi()
  const [alsoJobs, setAlsoJobs] = useState(false)
  const nowMs = Date.now()
  const { state, total, fired, ended, failed } = backfill
  // The seconds of the period are arbitrary, so omit them.
  const minute = (atMs: number) => formatMoment(Math.floor(atMs / 60_000) * 60_000, schedule.zone, nowMs)
  const share = (count: number) => (total === 0 ? 100 : (count / total) * 100)
  const cancel = useMutation(
    query.schedules.cancelBackfill.mutationOptions({
      onSuccess: () => notifyDone(texts.backfillWasCancelled(schedule.name, fired)),
      onError: (error) => notifyError(texts.couldNotCancelBackfill(schedule.name), error)
    })
  )
  const [id, name] = [`backfill:${schedule.id}`, texts.backfillOfSchedule(schedule.name)]
  const send = () => cancel.mutate({ id: schedule.id, cancelJobs: alsoJobs })
  const isPending = usePendingCancels(({ byId }) => byId.has(id))
  const word = { running: texts.backfill, done: texts.backfillDone, cancelled: texts.backfillCancelled }[state]
  return (
    <section className={`${classes.progress} box`} aria-label={texts.backfill}>
      <header className="line">
        <strong className="grow semibold">{word}</strong>
        {state === 'running' && (
          <Button
            loading={cancel.isPending}
            onClick={() => (isPending ? undoCancel(id) : cancelSoon({ ids: [id], name, send }))}
          >
            {isPending ? texts.undoCancel : texts.cancel}
          </Button>
        )}
      </header>
      <span className="dim">
        {minute(backfill.fromMs)} – {minute(backfill.untilMs)}
      </span>
      <Progress.Root aria-label={texts.endedOfTotal(ended, total)}>
        <Progress.Section value={share(ended - failed)} color="var(--ok)" aria-label={texts.succeeded} />
        <Progress.Section value={share(failed)} color="var(--bad)" aria-label={texts.failed} />
        <Progress.Section value={share(fired - ended)} color="var(--run)" aria-label={texts.live} />
      </Progress.Root>
      <span className="dim">
        {texts.endedOfRuns(ended, total)}
        {failed > 0 && <span className="tone-bad">{texts.failedRuns(failed)}</span>}
        {state === 'running' && texts.liveAndRemaining(fired - ended, total - fired)} ·{' '}
        <Link to="/jobs" search={{ schedule: schedule.id }}>
          {texts.showJobs}
        </Link>
      </span>
      {state === 'running' && (
        <Checkbox
          label={texts.alsoCancelLiveJobs}
          disabled={isPending}
          checked={alsoJobs}
          onChange={(event) => setAlsoJobs(event.currentTarget.checked)}
        />
      )}
    </section>
  )
}
