import { Flex } from '@mantine/core'
import type { Tone } from '../status.tsx'
import { formatInstant } from '../time.tsx'
import classes from './bar-chart.module.css'

interface BarChartProps {
  title: string
  /** Oldest first. Negative values have no height. */
  bars: readonly { value: number; tone: Tone }[]
  fromMs: number
  untilMs: number
  /** Describes the bars, which are hidden from screen readers. */
  caption: string
}

const HEIGHT = 52
/** The minimum height: a value of 0 must be visible. */
const LEAST = 2
const SLOTS_MIN = 14

export function BarChart({ title, bars, fromMs, untilMs, caption }: BarChartProps) {
  const most = Math.max(0, ...bars.map(({ value }) => value))
  const slots = Math.max(SLOTS_MIN, bars.length)
  const heightOf = (value: number) => (most === 0 ? LEAST : Math.max(LEAST, (Math.max(0, value) / most) * HEIGHT))
  return (
    <figure className={classes.chart}>
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${slots} ${HEIGHT}`} height={HEIGHT} preserveAspectRatio="none" aria-hidden>
        {bars.map(({ value, tone }, index) => (
          <rect
            key={index}
            className={`tone-${tone}`}
            x={index + 0.1}
            width={0.8}
            y={HEIGHT - heightOf(value)}
            height={heightOf(value)}
            fill="currentColor"
          />
        ))}
      </svg>
      <Flex justify="space-between" gap={10} mt={3} fz={11} className="faint" aria-hidden>
        <span>{formatInstant(fromMs)}</span>
        <span>{formatInstant(untilMs)}</span>
      </Flex>
      <p>{caption}</p>
    </figure>
  )
}
