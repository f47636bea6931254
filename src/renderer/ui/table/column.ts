import type { ReactNode } from 'react'

export interface Column<Row> {
  id: string
  header: ReactNode
  /** A CSS grid track: `110px`, `minmax(160px, 2fr)`. */
  width: string
  align?: 'start' | 'end'
  cell: (row: Row) => ReactNode
  /** Makes the header a button that sorts by this value. */
  sortBy?: (row: Row) => string | number | null
  /** The sort direction of a column that the engine sorts. Makes the header a button. */
  sorted?: 'ascending' | 'descending' | 'none'
  /** Hides the column if the table is narrower than this, in pixels. */
  hideBelowPx?: number
}

export type Sort = { id: string; descending: boolean } | null

export function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort): readonly Row[] {
  const valueOf = columns.find(({ id }) => id === sort?.id)?.sortBy
  if (!sort || !valueOf) return rows
  const direction = sort.descending ? -1 : 1
  return [...rows].sort((left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)]
    // Rows without a value come last in both directions.
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return (
      direction *
      (typeof a === 'string' && typeof b === 'string'
        ? a.localeCompare(b, undefined, { numeric: true })
        : Number(a) - Number(b))
    )
  })
}
