import { Button, Checkbox, Progress } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Backfill, Schedule } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { cancelSoon, undoCancel, usePendingCancels } from '../../../ui/cancel-grace.tsx'
import { notifyDone, notifyError } from '../../../ui/notify.tsx'
import { formatCount, plural } from '../../../ui/numbers.ts'
import { formatMoment } from '../zoned-time.ts'
import classes from './schedule-detail.module.css'

/** The progress of a backfill; stays visible after its end, until the next one begins. */
export function BackfillProgress({ schedule, backfill }: { schedule: Schedule; backfill: Backfill }) {
  const { query } = useApi()
  const [alsoJobs, setAlsoJobs] = useState(false)
  const nowMs = Date.now()
  const { state, total, fired, ended, failed } = backfill
  // Its seconds are arbitrary.
  const minute = (atMs: number) => formatMoment(Math.floor(atMs / 60_000) * 60_000, schedule.zone, nowMs)
  const share = (count: number) => (total === 0 ? 100 : (count / total) * 100)
  const cancel = useMutation(
    query.schedules.cancelBackfill.mutationOptions({
      onSuccess: () => notifyDone(`The backfill of ${schedule.name} was cancelled after ${plural(fired, 'run')}.`),
      onError: (error) => notifyError(`Could not cancel the backfill of ${schedule.name}`, error)
    })
  )
  const [id, name] = [`backfill of ${schedule.id}`, `the backfill of ${schedule.name}`]
  const send = () => cancel.mutate({ id: schedule.id, cancelJobs: alsoJobs })
  const isPending = usePendingCancels(({ byId }) => byId.has(id))
  const word = { running: 'Backfill', done: 'Backfill done', cancelled: 'Backfill cancelled' }[state]
  return (
    <section className={classes.progress} aria-label="Backfill">
      <header>
        <strong>{word}</strong>
        {state === 'running' && (
          <Button
            loading={cancel.isPending}
            onClick={() => (isPending ? undoCancel(id) : cancelSoon({ ids: [id], name, send }))}
          >
            {isPending ? 'Undo cancel' : 'Cancel'}
          </Button>
        )}
      </header>
      <span className="dim">
        {minute(backfill.fromMs)} – {minute(backfill.untilMs)}
      </span>
      <Progress.Root aria-label={`${ended} of ${total} ended`}>
        <Progress.Section value={share(ended - failed)} color="var(--ok)" aria-label="succeeded" />
        <Progress.Section value={share(failed)} color="var(--bad)" aria-label="failed" />
        <Progress.Section value={share(fired - ended)} color="var(--run)" aria-label="live" />
      </Progress.Root>
      <span className="dim">
        {formatCount(ended)} of {plural(total, 'run')} ended
        {failed > 0 && <span className="tone-bad"> · {formatCount(failed)} failed</span>}
        {state === 'running' && ` · ${fired - ended} live, ${total - fired} remaining`} ·{' '}
        <Link to="/jobs" search={{ schedule: schedule.id }}>
          Show jobs
        </Link>
      </span>
      {state === 'running' && (
        <Checkbox
          label="Also cancel live jobs"
          disabled={isPending}
          checked={alsoJobs}
          onChange={(event) => setAlsoJobs(event.currentTarget.checked)}
        />
      )}
    </section>
  )
}
