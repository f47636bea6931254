import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Job } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useNow } from '../../ui/clock.ts'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

/** The minimum delay to show. Shorter delays are normal. */
const LATE_MS = 60_000

/** `by nightly prices, for 03:00`: the job's schedule and scheduled time. */
export function JobSchedule({ job, isWhole = false }: { job: Job; isWhole?: boolean }) {
  const { query } = useApi()
  const nowMs = useNow()
  const { scheduleId, nominalMs } = job
  const schedule = useQuery(
    query.schedules.get.queryOptions({
      input: { id: scheduleId ?? '' },
      enabled: scheduleId !== null,
      retry: false,
      staleTime: 30_000
    })
  )
  if (scheduleId === null) return null
  const name = schedule.data?.name ?? (schedule.isError ? null : '…')
  const lateMs = nominalMs === null ? 0 : job.queuedAtMs - nominalMs
  const link =
    name === null ? (
      <span className="dim">{texts.deletedSchedule}</span>
    ) : (
      <Link to="/schedules" search={{ schedule: scheduleId }}>
        {name}
      </Link>
    )
  if (nominalMs === null) return <span>{isWhole ? link : texts.bySchedule(link)}</span>
  const time = (
    <time dateTime={new Date(nominalMs).toISOString()} title={formatInstant(nominalMs)}>
      {isWhole ? formatInstant(nominalMs) : formatMoment(nominalMs, nowMs)}
    </time>
  )
  if (!isWhole) return <span>{texts.byScheduleFor(link, time)}</span>
  return (
    <span>
      {lateMs < LATE_MS ? texts.scheduleFor(link, time) : texts.scheduleForLate(link, time, formatAge(lateMs))}
    </span>
  )
}
