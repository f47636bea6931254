import { memo, type RefObject } from 'react'
import type { Column } from './column.ts'
import classes from './virtual-table.module.css'

export interface RowViewProps {
  row: unknown
  columns: readonly Column<unknown>[]
  elementId: string
  index: number
  topPx: number
  tracks: string
  cursor: boolean
  open: boolean
  stale: boolean
  marked: boolean | null
  draggable: boolean
  /** The latest handler, behind a ref: rows need not render again when it changes. */
  act: RefObject<(index: number, kind: 'open' | 'mark', range: boolean) => void>
}

// A row renders again only if something that it shows has changed.
export const RowView = memo(function RowView(props: RowViewProps) {
  const { row, columns, index, topPx, tracks, open, marked, act } = props
  return (
    <div
      className={classes.row}
      id={props.elementId}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={marked ?? open}
      data-cursor={props.cursor || undefined}
      data-open={open || undefined}
      data-marked={marked || undefined}
      data-stale={props.stale || undefined}
      draggable={props.draggable || undefined}
      style={{ gridTemplateColumns: tracks, transform: `translateY(${topPx}px)` }}
      onClick={(event) => {
        if (!(event.target as Element).closest('a, button, input, label')) act.current(index, 'open', false)
      }}
    >
      {marked !== null && (
        <span className={classes.check} role="gridcell">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label="Select row"
            checked={marked}
            onChange={() => {}}
            onClick={(event) => act.current(index, 'mark', event.shiftKey)}
          />
        </span>
      )}
      {columns.map((column) => (
        <span key={column.id} className={classes.cell} role="gridcell" data-align={column.align}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  )
})
