import { useElementSize } from '@mantine/hooks'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import { nearestIndex, stepTo, valueTicks } from '../../../ui/charts/chart-scale.ts'
import { ValueGrid } from '../../../ui/charts/value-grid.tsx'
import classes from './load.module.css'
import type { LoadMinute } from './spread.ts'
import { formatTime, formatWeekday, localZone } from '../../../ui/moment.ts'
import { locale } from '../../../../shared/locale.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const HEIGHT = 210
const TOP = 10
const BOTTOM = 20
const LEFT = 34
const RIGHT = 4
const BAR_PX = 4

interface LoadChartProps {
  minutes: readonly LoadMinute[]
  slots: number
  fromMs: number
  untilMs: number
  atMs: number | null
  onOpen: (atMs: number) => void
}

/** A bar for each period, as high as its fullest minute. Jobs above the slot line wait. Arrow keys select a bar. */
export function LoadChart({ minutes, slots, fromMs, untilMs, atMs, onOpen }: LoadChartProps) {
  const { ref, width: measured } = useElementSize()
  const [looked, setLooked] = useState<number | null>(null)
  const width = measured || 760
  const { bars, barMinutes } = barsOf(minutes, fromMs, untilMs, Math.floor((width - LEFT - RIGHT) / BAR_PX))
  const peak = Math.max(...bars.map((bar) => bar.peak.jobs))
  // If the line for the slots were far above the bars, it would flatten them.
  const areSlotsNear = slots > 0 && slots <= peak * 2.5
  const ticks = valueTicks(areSlotsNear ? Math.max(peak, slots) : peak, false)
  const spanMs = untilMs - fromMs
  const x = (time: number) => LEFT + ((time - fromMs) / spanMs) * (width - LEFT - RIGHT)
  const y = (jobs: number) => HEIGHT - BOTTOM - (jobs / (ticks.at(-1) as number)) * (HEIGHT - BOTTOM - TOP)
  const barWidth = Math.max(2, ((barMinutes * 60_000) / spanMs) * (width - LEFT - RIGHT) - 1)
  const open =
    atMs === null ? -1 : bars.findIndex((bar) => atMs >= bar.fromMs && atMs < bar.fromMs + barMinutes * 60_000)
  const index = looked ?? (open === -1 ? null : open)
  const shown = index === null ? undefined : bars[index]
  const widest = bars.find((bar) => bar.peak.jobs === peak)

  const nearest = (event: PointerEvent<SVGSVGElement>) => {
    const pixel = event.clientX - event.currentTarget.getBoundingClientRect().left
    const time = fromMs + ((pixel - LEFT) / (width - LEFT - RIGHT)) * spanMs - (barMinutes * 60_000) / 2
    return nearestIndex(
      bars.map((bar) => ({ atMs: bar.fromMs, value: 0 })),
      time
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && shown !== undefined) return onOpen(shown.peak.atMs)
    const to = stepTo(event.key, index ?? -1, bars.length - 1)
    if (to === null) return
    event.preventDefault()
    setLooked(to)
  }
  return (
    <figure className={classes.chart} ref={ref}>
      <figcaption>
        {shown === undefined
          ? widest && texts.busiest(words(widest))
          : barMinutes > 1
            ? texts.busiestOf(words(shown), barMinutes)
            : words(shown)}
      </figcaption>
      <svg
        width={width}
        height={HEIGHT}
        role="slider"
        tabIndex={0}
        aria-label={texts.loadSlider}
        aria-valuemin={0}
        aria-valuemax={bars.length - 1}
        aria-valuenow={index ?? 0}
        aria-valuetext={shown ? words(shown) : widest ? words(widest) : ''}
        onPointerMove={(event) => setLooked(nearest(event))}
        onPointerLeave={() => setLooked(null)}
        onClick={(event) => {
          const bar = bars[nearest(event as unknown as PointerEvent<SVGSVGElement>)]
          if (bar) onOpen(bar.peak.atMs)
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setLooked(null)}
      >
        <ValueGrid ticks={ticks} y={y} left={LEFT} right={width - RIGHT} />
        {hourTicks(fromMs, untilMs, Math.floor(width / 70)).map((time) => (
          <HourTick key={time} atMs={time} x={x(time)} width={width} />
        ))}
        {bars.map((bar, each) => {
          const { jobs } = bar.peak
          const fits = Math.min(jobs, slots)
          return (
            <g key={bar.fromMs} data-look={each === index || undefined} className={classes.bar}>
              <rect className="tone-run" x={x(bar.fromMs)} width={barWidth} y={y(fits)} height={y(0) - y(fits)} />
              {jobs > fits && (
                <rect className="tone-wait" x={x(bar.fromMs)} width={barWidth} y={y(jobs)} height={y(fits) - y(jobs)} />
              )}
            </g>
          )
        })}
        {areSlotsNear && (
          <g className={classes.slots}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(slots)} y2={y(slots)} />
            <text x={width - RIGHT} y={y(slots) - 4} textAnchor="end">
              {texts.slotCount(slots)}
            </text>
          </g>
        )}
      </svg>
    </figure>
  )
}

const words = ({ peak }: Bar) => texts.jobsOfSchedules(minuteWords(peak.atMs), peak.jobs, peak.firings)

function HourTick({ atMs, x, width }: { atMs: number; x: number; width: number }) {
  const at = new Date(atMs)
  const isMidnight = at.getHours() === 0
  const text = isMidnight
    ? at.toLocaleDateString(locale(), { weekday: 'short', day: 'numeric' }).replace(',', '')
    : at.toLocaleTimeString(locale(), { hour: '2-digit', minute: '2-digit' })
  return (
    <g>
      {isMidnight && <line className={classes.midnight} x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />}
      <text
        x={x}
        y={HEIGHT - 5}
        textAnchor={x > width - 24 ? 'end' : x < LEFT + 12 ? 'start' : 'middle'}
        data-strong={isMidnight || undefined}
      >
        {text}
      </text>
    </g>
  )
}

const MINUTE_MS = 60_000
/** Minutes per bar: only lengths that divide an hour evenly. */
const BAR_MINUTES = [1, 2, 5, 10, 15, 30, 60]

interface Bar {
  readonly fromMs: number
  /** The fullest minute of the bar, which a sum or a mean would hide. */
  readonly peak: LoadMinute
}

/** As many bars as fit, each with its fullest minute. Omits bars in which nothing starts. */
export function barsOf(minutes: readonly LoadMinute[], fromMs: number, untilMs: number, most: number) {
  const spanMinutes = (untilMs - fromMs) / MINUTE_MS
  const barMinutes = BAR_MINUTES.find((size) => spanMinutes / size <= most) ?? 60
  const barMs = barMinutes * MINUTE_MS
  const bars = new Map<number, Bar>()
  for (const minute of minutes) {
    if (minute.jobs === 0 || minute.atMs < fromMs || minute.atMs >= untilMs) continue
    const start = fromMs + Math.floor((minute.atMs - fromMs) / barMs) * barMs
    const before = bars.get(start)
    if (before === undefined || minute.jobs > before.peak.jobs) bars.set(start, { fromMs: start, peak: minute })
  }
  return { barMinutes, bars: [...bars.values()].sort((left, right) => left.fromMs - right.fromMs) }
}

/** Round hours in the local time zone, or midnights if hours would be too dense. */
export function hourTicks(fromMs: number, untilMs: number, most: number): number[] {
  const hours = (untilMs - fromMs) / 3_600_000
  const step = [1, 2, 3, 6, 12, 24].find((each) => hours / each <= most) ?? 24
  const ticks: number[] = []
  const at = new Date(fromMs)
  at.setMinutes(0, 0, 0)
  for (; at.getTime() < untilMs; at.setHours(at.getHours() + 1))
    if (at.getTime() >= fromMs && at.getHours() % step === 0) ticks.push(at.getTime())
  return ticks
}

/** `Tue 24 Nov, 03:00`, with the year if it is not the current one. */
export const minuteWords = (atMs: number): string =>
  `${formatWeekday(atMs, Date.now(), localZone())}, ${formatTime(atMs, localZone())}`
