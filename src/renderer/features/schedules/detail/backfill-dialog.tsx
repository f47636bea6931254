import { Button, Modal, NumberInput, SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Backfill, Schedule } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { DialogFoot } from '../../../ui/dialog-foot.tsx'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import { formatCount, plural } from '../../../ui/numbers.ts'
import { missedSinceMs } from '../schedule-words.ts'
import { formatMoment, fromLocalInput, toLocalInput } from '../zoned-time.ts'
import classes from './schedule-detail.module.css'

const DAY_MS = 86_400_000
const CONCURRENCY_MAX = 1_000
/** Of the first moments, and of the last; what lies between is counted. */
const MOMENTS_SHOWN = 3

/** Runs the moments of a time that is past, each as if it were then. What it would do is counted before anything is made. */
export function BackfillDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const { client, query } = useApi()
  const [nowMs] = useState(() => Date.now())
  const [form, setForm] = useState(() => startForm(schedule, nowMs))
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const change = (patch: Partial<typeof form>) => {
    setError(null)
    setForm((before) => ({ ...before, ...patch }))
  }
  const fromMs = fromLocalInput(form.from, schedule.zone)
  const untilMs = fromLocalInput(form.until, schedule.zone)
  const problem =
    fromMs === null || untilMs === null
      ? 'Say from when until when'
      : fromMs >= untilMs
        ? 'The end lies before the beginning'
        : fromMs > nowMs
          ? 'That time has not come: a backfill is of the past'
          : null
  const range = { id: schedule.id, fromMs: fromMs ?? 0, untilMs: untilMs ?? 0 }
  const [settled] = useDebouncedValue(range, 200)
  const plan = useQuery({
    ...query.schedules.planBackfill.queryOptions({ input: settled }),
    enabled: problem === null,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0
  })
  const isCounted =
    problem === null &&
    plan.data !== undefined &&
    !plan.isFetching &&
    settled.fromMs === range.fromMs &&
    settled.untilMs === range.untilMs
  const start = async () => {
    setBusy(true)
    try {
      await client.schedules.backfill({ ...range, order: form.order, concurrency: form.concurrency })
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const ago = (days: number) =>
    change({
      from: toLocalInput(nowMs - days * DAY_MS, schedule.zone).slice(0, 16),
      until: toLocalInput(nowMs, schedule.zone).slice(0, 16)
    })
  return (
    <Modal opened onClose={onClose} title={`Backfill ${schedule.name}`} size={540}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          if (isCounted && plan.data.count > 0) void start()
        }}
      >
        <div className={classes.pair}>
          <TextInput
            type="datetime-local"
            label="From"
            description={schedule.zone}
            value={form.from}
            onChange={(event) => change({ from: event.currentTarget.value })}
          />
          <TextInput
            type="datetime-local"
            label="Until"
            description={schedule.zone}
            value={form.until}
            onChange={(event) => change({ until: event.currentTarget.value })}
          />
        </div>
        <div className={classes.quick}>
          {[1, 7, 30].map((days) => (
            <Button key={days} size="compact-xs" onClick={() => ago(days)}>
              {days === 1 ? 'Last 24 h' : `Last ${days} days`}
            </Button>
          ))}
        </div>
        <div className={classes.plan} role="status" aria-label="What it would do">
          {problem !== null ? (
            <span className="tone-wait">{problem}</span>
          ) : plan.isError ? (
            <FormFailure error={plan.error} />
          ) : plan.data === undefined ? (
            <span className="faint">Counting…</span>
          ) : (
            <Plan schedule={schedule} plan={plan.data} nowMs={nowMs} />
          )}
        </div>
        <div className={classes.pair}>
          <div>
            <SegmentedControl
              aria-label="Order"
              value={form.order}
              onChange={(order) => change({ order: order as Backfill['order'] })}
              data={[
                { value: 'oldest_first', label: 'Oldest first' },
                { value: 'newest_first', label: 'Newest first' }
              ]}
            />
          </div>
          <NumberInput
            aria-label="Runs at a time"
            min={1}
            max={CONCURRENCY_MAX}
            suffix=" at a time"
            value={form.concurrency}
            onChange={(value) => change({ concurrency: Math.max(1, Number(value) || 1) })}
          />
        </div>
        <FormFailure error={error} />
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled" loading={isBusy} disabled={!isCounted || plan.data.count === 0}>
            {isCounted && plan.data.count > 0 ? `Run ${plural(plan.data.jobs, 'job')}` : 'Run'}
          </Button>
        </DialogFoot>
      </form>
    </Modal>
  )
}

interface PlanProps {
  schedule: Schedule
  plan: {
    count: number
    jobs: number
    alreadyRun: number
    forgotten: number
    first: { nominalMs: number }[]
    last: { nominalMs: number }[]
  }
  nowMs: number
}

function Plan({ schedule, plan, nowMs }: PlanProps) {
  const { count, jobs, alreadyRun, forgotten, first, last } = plan
  const moment = (atMs: number) => formatMoment(atMs, schedule.zone, nowMs)
  const unknown =
    forgotten === 0
      ? ''
      : `Of ${formatCount(forgotten)} it is not known any more whether they ran, so they are left out: the history keeps the newest only.`
  if (count === 0)
    return (
      <span>
        <strong>Nothing to run.</strong>{' '}
        {alreadyRun === 0
          ? unknown || 'It has no moment in this time.'
          : forgotten === 0
            ? alreadyRun === 1
              ? 'The one moment of this time has run.'
              : `All ${formatCount(alreadyRun)} moments of this time have run.`
            : `${formatCount(alreadyRun)} moments of this time have run. ${unknown}`}
      </span>
    )
  const known = [...new Set([...first, ...last].map(({ nominalMs }) => nominalMs))]
  // A long list would push the order and how many at a time out of sight.
  const edge = known.length === count && count <= 2 * MOMENTS_SHOWN + 1 ? count : MOMENTS_SHOWN
  const firsts = known.slice(0, edge)
  const lasts = known.slice(Math.max(edge, known.length - edge))
  const between = count - firsts.length - lasts.length
  return (
    <>
      <span>
        <strong>
          {plural(count, 'run')}, {plural(jobs, 'job')}.
        </strong>
        <span className="dim">
          {alreadyRun > 0 &&
            ` ${formatCount(alreadyRun)} more ${alreadyRun === 1 ? 'has run already and is' : 'have run already and are'} left out.`}
          {unknown && ` ${unknown}`}
        </span>
      </span>
      <ul className="dim">
        {firsts.map((atMs) => (
          <li key={atMs}>{moment(atMs)}</li>
        ))}
        {between > 0 && <li className="faint">… {formatCount(between)} between</li>}
        {lasts.map((atMs) => (
          <li key={atMs}>{moment(atMs)}</li>
        ))}
      </ul>
    </>
  )
}

/** What was missed, if anything was; else the last week. */
function startForm(schedule: Schedule, nowMs: number) {
  return {
    from: toLocalInput(missedSinceMs(schedule) ?? nowMs - 7 * DAY_MS, schedule.zone).slice(0, 16),
    until: toLocalInput(nowMs, schedule.zone).slice(0, 16),
    order: 'oldest_first' as Backfill['order'],
    concurrency: 1
  }
}
