import { Flex } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import type { KeyboardEvent, PointerEvent } from 'react'
import { formatRuntime } from '../../../shared/time.ts'
import { nearestIndex, type Point, stepTo, thinOut, timeTicks, valueTicks } from './chart-scale.ts'
import { ValueGrid } from './value-grid.tsx'
import classes from './line-chart.module.css'
import type { Tone } from '../status.tsx'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface LineChartProps {
  title: string
  /** At least two, oldest first. */
  points: readonly Point[]
  startedAtMs: number
  format: (value: number) => string
  isBinary?: boolean
  tone: Tone
  /** The maximum allowed value: a dashed line, or text if it is far above the values. */
  limit?: number | null
  /** The time under the pointer, shared with neighboring charts. */
  lookAtMs: number | null
  onLook: (atMs: number | null) => void
}

const HEIGHT = 104
const TOP = 6
const BOTTOM = 18
const RIGHT = 8
/**
 * The width for the values on the left, which fits `512 MB`. It is the same for all charts, to align the time axes of
 * stacked charts.
 */
const LEFT = 52

export function LineChart(props: LineChartProps) {
  const { title, startedAtMs, format, isBinary = false, tone, limit = null, lookAtMs, onLook } = props
  const { ref, width: measured } = useElementSize()
  const width = measured || 380
  const points = thinOut(props.points, width)
  const [first, last] = [points[0] as Point, points.at(-1) as Point]
  const peak = Math.max(...points.map(({ value }) => value))
  // A limit far above the values would flatten the line.
  const isLimitNear = limit !== null && limit <= peak * 2.5
  const ticks = valueTicks(isLimitNear ? Math.max(peak, limit) : peak, isBinary)
  const spanMs = Math.max(1, last.atMs - first.atMs)
  const x = (atMs: number) => LEFT + ((atMs - first.atMs) / spanMs) * (width - LEFT - RIGHT)
  const y = (value: number) => HEIGHT - BOTTOM - (value / (ticks.at(-1) as number)) * (HEIGHT - BOTTOM - TOP)
  const line = points.map(({ atMs, value }) => `${x(atMs).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
  const index = lookAtMs === null ? null : nearestIndex(points, lookAtMs)
  const looked = index === null ? null : (points[index] as Point)
  const inWords = ({ atMs, value }: Point) => texts.chartValueAt(format(value), formatRuntime(atMs - startedAtMs))

  const onPointer = (event: PointerEvent<SVGSVGElement>) => {
    const atX = event.clientX - event.currentTarget.getBoundingClientRect().left
    onLook(first.atMs + ((atX - LEFT) / (width - LEFT - RIGHT)) * spanMs)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const from = index ?? points.length - 1
    const to = stepTo(event.key, from, points.length - 1)
    if (to === null) return
    event.preventDefault()
    onLook(points[to]?.atMs ?? null)
  }
  return (
    <figure className={classes.chart} ref={ref}>
      <Flex component="figcaption" justify="space-between" gap={10} h={20}>
        <strong className="semibold">{title}</strong>
        <span className="dim">
          {looked !== null ? inWords(looked) : limit !== null && !isLimitNear ? texts.chartLimit(format(limit)) : ''}
        </span>
      </Flex>
      <svg
        width={width}
        height={HEIGHT}
        role="slider"
        tabIndex={0}
        aria-label={texts.chartLabel(title, format(peak))}
        aria-valuemin={0}
        aria-valuemax={points.length - 1}
        aria-valuenow={index ?? points.length - 1}
        aria-valuetext={inWords(looked ?? last)}
        onPointerMove={onPointer}
        onPointerLeave={() => onLook(null)}
        onKeyDown={onKeyDown}
        onBlur={() => onLook(null)}
      >
        <ValueGrid ticks={ticks} y={y} left={LEFT} right={width - RIGHT} format={format} />
        {timeTicks(first.atMs, last.atMs, startedAtMs, Math.floor(width / 90)).map((atMs) => (
          <text key={atMs} x={x(atMs)} y={HEIGHT - 3} textAnchor={x(atMs) > width - 30 ? 'end' : 'middle'}>
            {formatRuntime(atMs - startedAtMs)}
          </text>
        ))}
        <g className={`tone-${tone}`}>
          <polygon className={classes.area} points={`${x(first.atMs)},${y(0)} ${line} ${x(last.atMs)},${y(0)}`} />
          <polyline className={classes.line} points={line} />
          {looked !== null && (
            <>
              <line className={classes.look} x1={x(looked.atMs)} x2={x(looked.atMs)} y1={TOP} y2={y(0)} />
              <circle cx={x(looked.atMs)} cy={y(looked.value)} r={3} fill="currentColor" />
            </>
          )}
        </g>
        {isLimitNear && (
          <g className="tone-bad">
            <line className={classes.limit} x1={LEFT} x2={width - RIGHT} y1={y(limit)} y2={y(limit)} />
            <text className={classes.limitText} x={LEFT + 4} y={y(limit) > 22 ? y(limit) - 4 : y(limit) + 12}>
              {texts.chartLimit(format(limit))}
            </text>
          </g>
        )}
      </svg>
    </figure>
  )
}
