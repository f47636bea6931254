import type { ReactNode } from 'react'
import type { ItemCell, ItemColumn, ItemRow } from '../../../shared/contract/index.ts'
import { formatCount } from '../numbers.ts'
import type { Column } from '../table/column.ts'
import classes from './items.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

const NUMBER_PX = 64
/** How a column's width is computed from its first rows. */
const WIDTH_PX = { least: 84, most: 320, perCharacter: 7.4, around: 26 }
const MEASURED_ROWS = 50

interface ItemColumnsOptions {
  names: readonly string[]
  types: ReadonlyMap<string, ItemColumn['type']>
  rows: readonly ItemRow[]
  header?: (name: string) => ReactNode
  sorted?: (name: string) => 'ascending' | 'descending' | 'none'
}

export function itemColumns({ names, types, rows, header = (name) => name, sorted }: ItemColumnsOptions) {
  const measured = rows.slice(0, MEASURED_ROWS)
  const widths = names.map((name, at) => widthOf(name, measured, at))
  const columns: Column<ItemRow>[] = [
    {
      id: '#',
      header: '#',
      width: `${NUMBER_PX}px`,
      align: 'end',
      cell: ({ index }) => <span className="faint">{formatCount(index + 1)}</span>
    },
    ...names.map((name, at): Column<ItemRow> => {
      const isNumber = types.get(name) === 'number'
      return {
        id: `field ${name}`,
        header: header(name),
        // Wide columns get the free space: numbers far from their neighbors are hard to read.
        width: widths[at]! > 160 && !isNumber ? `minmax(${widths[at]}px, 1fr)` : `${widths[at]}px`,
        ...(isNumber && { align: 'end' as const }),
        ...(sorted !== undefined && { sorted: sorted(name) }),
        cell: ({ cells }) => (cells === null ? unreadable(at) : <Cell cell={cells[at] ?? null} />)
      }
    })
  ]
  return { columns, minWidthPx: NUMBER_PX + widths.reduce((sum, width) => sum + width, 0) + 16 }
}

function widthOf(name: string, rows: readonly ItemRow[], at: number): number {
  const { least, most, perCharacter, around } = WIDTH_PX
  const longest = Math.max(name.length, ...rows.map(({ cells }) => cells?.[at]?.text.length ?? 0))
  return Math.round(Math.min(most, Math.max(least, longest * perCharacter + around)))
}

function unreadable(at: number): ReactNode {
  return at === 0 ? <span className="tone-bad">{texts.itemUnreadable}</span> : null
}

function Cell({ cell }: { cell: ItemCell }) {
  if (cell === null) return <span className={classes.absent} title={texts.fieldAbsent} />
  if (cell.type === 'null') return <span className="faint">{texts.nullValue}</span>
  const text = cell.isCut ? `${cell.text}…` : cell.text
  if (cell.type === 'nested') return <span className={`${classes.nested} dim`}>{text}</span>
  return <span title={cell.text.length > 30 ? text : undefined}>{text}</span>
}
