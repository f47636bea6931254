import { useId } from 'react'
import type { Tone } from '../status.tsx'

interface SparklineProps {
  values: readonly number[]
  tone: Tone
  width?: number
  height?: number
  floor?: number
}

/** Gray without data. Hidden from screen readers, because the figures are next to it. */
export function Sparkline({ values, tone, width = 92, height = 28, floor = 0 }: SparklineProps) {
  const id = useId()
  if (values.length < 2) return <svg width={width} height={height} aria-hidden />
  const top = Math.max(floor + 1, ...values)
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * width
    const y = height - 1.5 - ((value - floor) / (top - floor)) * (height - 4)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className={`tone-${values.every((value) => value === floor) ? 'off' : tone}`}
      aria-hidden
    >
      <linearGradient id={id} x1="0" x2="0" y1="0" y2="1">
        <stop offset="0" stopColor="currentColor" stopOpacity="0.22" />
        <stop offset="1" stopColor="currentColor" stopOpacity="0.04" />
      </linearGradient>
      <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} fill={`url(#${id})`} />
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" />
    </svg>
  )
}
