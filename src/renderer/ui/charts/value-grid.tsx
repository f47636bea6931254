import classes from './line-chart.module.css'

interface ValueGridProps {
  ticks: readonly number[]
  y: (value: number) => number
  left: number
  right: number
  format?: (value: number) => string
}

export function ValueGrid({ ticks, y, left, right, format = String }: ValueGridProps) {
  return ticks.map((tick) => (
    <g key={tick}>
      <line className={classes.grid} x1={left} x2={right} y1={y(tick)} y2={y(tick)} />
      <text x={left - 6} y={y(tick) + 4} textAnchor="end">
        {format(tick)}
      </text>
    </g>
  ))
}
