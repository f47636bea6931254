import type { Column, Sort } from './column.ts'
import classes from './virtual-table.module.css'

interface HeadCellProps<Row> {
  column: Column<Row>
  sort: Sort
  onSort: (sort: Sort) => void
}

/** A column's header; clicks sort ascending, then descending, then not at all. */
export function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>) {
  const mine = sort?.id === column.id ? sort : null
  if (!column.sortBy) {
    return (
      <span className={classes.cell} role="columnheader" data-align={column.align} aria-sort={column.sorted}>
        {column.header}
      </span>
    )
  }
  const next: Sort =
    mine === null ? { id: column.id, descending: false } : mine.descending ? null : { id: column.id, descending: true }
  return (
    <span
      className={classes.cell}
      role="columnheader"
      data-align={column.align}
      aria-sort={mine === null ? 'none' : mine.descending ? 'descending' : 'ascending'}
    >
      <button type="button" className={classes.sort} tabIndex={-1} onClick={() => onSort(next)}>
        {column.header}
        <i aria-hidden>{mine === null ? '' : mine.descending ? ' ↓' : ' ↑'}</i>
      </button>
    </span>
  )
}
