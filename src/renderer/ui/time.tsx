import { formatAge, formatRuntime } from '../../shared/time.ts'
import { useNow } from './clock.ts'
import { readersLocale } from '../../shared/locale.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

/** `12 s`, or `12 s ago`, with the full date in the tooltip. `absent`: the text if there is no time. */
export function RelativeTime(props: { atMs: number | null; ago?: boolean; absent?: string }) {
  const { atMs, ago = false, absent = '–' } = props
  const nowMs = useNow()
  if (atMs === null) return <span className="faint">{absent}</span>
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatInstant(atMs)}>
      {ago ? texts.timeAgo(formatAge(nowMs - atMs)) : formatAge(nowMs - atMs)}
    </time>
  )
}

export function Runtime({ startedAtMs, endedAtMs }: { startedAtMs: number | null; endedAtMs: number | null }) {
  if (startedAtMs === null) return null
  if (endedAtMs !== null)
    // Node clocks differ. A run that seems to start after its end is shown as having taken no time.
    return <span title={formatInstant(startedAtMs)}>{formatRuntime(Math.max(0, endedAtMs - startedAtMs))}</span>
  return <RunningTime startedAtMs={startedAtMs} />
}

function RunningTime({ startedAtMs }: { startedAtMs: number }) {
  const nowMs = useNow()
  return <span title={texts.startedSince(formatInstant(startedAtMs))}>{formatRuntime(nowMs - startedAtMs)}</span>
}

/** `21 Nov 2026, 09:42:10`, in the local time zone and language. */
export function formatInstant(atMs: number): string {
  return instantFormat.format(atMs)
}

const instantFormat = new Intl.DateTimeFormat(readersLocale(), { dateStyle: 'medium', timeStyle: 'medium' })
