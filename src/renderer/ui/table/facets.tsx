import type { ReactNode } from 'react'
import classes from './facets.module.css'
import { formatCount } from '../numbers.ts'

export interface FacetOption {
  value: string
  label?: ReactNode
  icon?: ReactNode
  count: number | null
}

interface FacetGroupProps {
  title: string
  options: readonly FacetOption[]
  selected: readonly string[]
  onToggle: (value: string) => void
}

/** One group of a list's filters, with counts. A click adds or removes the value. */
export function FacetGroup({ title, options, selected, onToggle }: FacetGroupProps) {
  if (options.length === 0) return null
  return (
    <fieldset className={classes.group}>
      <legend>{title}</legend>
      {options.map(({ value, label = value, icon, count }) => (
        <button
          key={value}
          type="button"
          className={classes.option}
          aria-pressed={selected.includes(value)}
          onClick={() => onToggle(value)}
        >
          {icon}
          <span className="ellipsis">{label}</span>
          {count !== null && <b>{formatCount(count)}</b>}
        </button>
      ))}
    </fieldset>
  )
}
