import type { ReactNode } from 'react'
import type { ItemCell, ItemColumn, ItemRow } from '../../../shared/contract/index.ts'
import type { Column } from '../table/column.ts'
import classes from './items.module.css'

const WIDTH_PX: Record<ItemColumn['type'], number> = {
  number: 110,
  boolean: 90,
  empty: 110,
  text: 200,
  mixed: 160,
  nested: 200
}
const NUMBER_PX = 64

interface ItemColumnsOptions {
  /** In the order of the cells. */
  names: readonly string[]
  types: ReadonlyMap<string, ItemColumn['type']>
  /** Default: the name. */
  header?: (name: string) => ReactNode
  sorted?: (name: string) => 'ascending' | 'descending' | 'none'
}

/** The columns of a table of items, and how wide it must be for them. */
export function itemColumns({ names, types, header = (name) => name, sorted }: ItemColumnsOptions) {
  const typeOf = (name: string) => types.get(name) ?? 'mixed'
  const columns: Column<ItemRow>[] = [
    { id: '#', header: '#', width: `${NUMBER_PX}px`, align: 'end', cell: ({ index }) => <span className="faint">{index + 1}</span> },
    ...names.map((name, at): Column<ItemRow> => {
      const isNumber = typeOf(name) === 'number'
      return {
        id: `field ${name}`,
        header: header(name),
        width: `minmax(${WIDTH_PX[typeOf(name)]}px, ${isNumber ? 'auto' : '1fr'})`,
        ...(isNumber && { align: 'end' as const }),
        ...(sorted !== undefined && { sorted: sorted(name) }),
        cell: ({ cells }) => (cells === null ? unreadable(at) : <Cell cell={cells[at] ?? null} />)
      }
    })
  ]
  const minWidthPx = NUMBER_PX + names.reduce((sum, name) => sum + WIDTH_PX[typeOf(name)], 0) + 16
  return { columns, minWidthPx }
}

/** Said once in the row. */
function unreadable(at: number): ReactNode {
  return at === 0 ? <span className={classes.unreadable}>not readable</span> : null
}

function Cell({ cell }: { cell: ItemCell }) {
  if (cell === null) return <span className={classes.absent} title="The item has no such field" />
  if (cell.type === 'null') return <span className="faint">null</span>
  const text = cell.isCut ? `${cell.text}…` : cell.text
  if (cell.type === 'nested') return <span className={classes.nested}>{text}</span>
  return <span title={cell.text.length > 30 ? text : undefined}>{text}</span>
}
