import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type DragEvent,
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState
} from 'react'
import { useKeys } from '../../state/keys.ts'
import classes from './virtual-table.module.css'

export interface Column<Row> {
  id: string
  header: ReactNode
  /** A CSS grid track: `110px`, `minmax(160px, 2fr)`. */
  width: string
  align?: 'start' | 'end'
  cell: (row: Row) => ReactNode
  /** Makes the head a button that sorts by this value. */
  sortBy?: (row: Row) => string | number | null
  /** The column goes when the table is narrower than this (pixels). */
  hideBelowPx?: number
}

interface VirtualTableProps<Row> {
  /** Name for screen readers: `Jobs`. */
  label: string
  rows: readonly Row[]
  rowId: (row: Row) => string
  columns: readonly Column<Row>[]
  /** The row whose detail is open. */
  openId?: string | null
  /** Click, or Enter on the row under the cursor. */
  onOpen?: (row: Row) => void
  /** Marked rows: gives check boxes, `x` and Shift-`x`. */
  marks?: ReadonlySet<string>
  onMarks?: (marks: ReadonlySet<string>) => void
  /** The last rows came into sight: load more. */
  onEndReached?: () => void
  /** Values of this row are old: shown greyed. */
  isStale?: (row: Row) => boolean
  /** j, k, Enter and x work without a click into the table first. One table of a screen may say so. */
  primary?: boolean
  /** Rows have an order that can be changed, by dragging or with Alt and the arrows: these go right before that row, or to the end. */
  onReorder?: (ids: readonly string[], before: string | null) => void
  empty?: ReactNode
  /** Of every row; 32 unless told otherwise. */
  rowPx?: number
}

const ROW_PX = 32

/** A table for any number of rows: only those in sight are in the page. The cursor moves by j/k or arrows. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, rowId, openId = null, onOpen, marks, onMarks, onEndReached, primary = false } = props
  const { rowPx = ROW_PX } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const widthPx = useWidth(scroller)
  const [sort, setSort] = useState<{ id: string; descending: boolean } | null>(null)
  const [cursorId, setCursorId] = useState<string | null>(null)
  const [dropIndex, setDropIndex] = useState<number | null>(null)
  const dragged = useRef<readonly string[]>([])
  const markedFrom = useRef<string | null>(null)

  const columns = useMemo(
    () => props.columns.filter(({ hideBelowPx = 0 }) => widthPx === 0 || widthPx >= hideBelowPx),
    [props.columns, widthPx]
  )
  const rows = useMemo(() => sortRows(props.rows, props.columns, sort), [props.rows, props.columns, sort])
  const ids = useMemo(() => rows.map(rowId), [rows, rowId])
  const cursor = Math.max(
    cursorId === null ? -1 : ids.indexOf(cursorId),
    openId === null || cursorId !== null ? -1 : ids.indexOf(openId)
  )

  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 8,
    initialRect: { width: 1000, height: 600 }
  })
  const items = virtualizer.getVirtualItems()
  const lastIndex = items.at(-1)?.index ?? -1
  const endReached = useRef(onEndReached)
  endReached.current = onEndReached
  useEffect(() => {
    if (lastIndex >= 0 && lastIndex >= rows.length - 20) endReached.current?.()
  }, [lastIndex, rows.length])

  const moveTo = (index: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, index))
    const row = rows[next]
    if (row === undefined) return
    setCursorId(rowId(row))
    virtualizer.scrollToIndex(next, { align: 'auto' })
    if (openId !== null) onOpen?.(row)
  }
  const toggleMark = (index: number, range: boolean) => {
    const target = ids[index]
    if (!marks || !onMarks || target === undefined) return
    const next = new Set(marks)
    const from = range && markedFrom.current !== null ? ids.indexOf(markedFrom.current) : -1
    if (from >= 0) for (const each of ids.slice(Math.min(from, index), Math.max(from, index) + 1)) next.add(each)
    else if (!next.delete(target)) next.add(target)
    markedFrom.current = target
    onMarks(next)
  }
  const act = useRef<RowViewProps['act']['current']>(() => {})
  act.current = (index, kind, range) => {
    const row = rows[index]
    if (row === undefined) return
    setCursorId(rowId(row))
    if (kind === 'open') onOpen?.(row)
    else toggleMark(index, range)
  }
  const openCursor = () => {
    const row = rows[cursor]
    if (row !== undefined) onOpen?.(row)
  }
  const onReorder = sort === null ? props.onReorder : undefined
  /** The marked rows, if the row is one of them; else the row alone. */
  const movedWith = (target: string) => (marks?.has(target) ? ids.filter((each) => marks.has(each)) : [target])
  const moveRows = (moved: readonly string[], before: string | null) => {
    if (before === null || !moved.includes(before)) onReorder?.(moved, before)
  }
  const shiftCursor = (direction: -1 | 1) => {
    const target = ids[cursor]
    if (target === undefined) return
    const moved = movedWith(target)
    const first = ids.indexOf(moved[0] as string)
    const last = ids.indexOf(moved.at(-1) as string)
    if (direction === -1 ? first > 0 : last < ids.length - 1)
      moveRows(moved, direction === -1 ? (ids[first - 1] ?? null) : (ids[last + 2] ?? null))
  }
  const drag = {
    onDragStart: (event: DragEvent) => {
      const target = ids[rowIndexOf(event)]
      if (target === undefined) return
      dragged.current = movedWith(target)
      event.dataTransfer.effectAllowed = 'move'
      event.dataTransfer.setData('text/plain', dragged.current.join('\n'))
    },
    onDragOver: (event: DragEvent) => {
      const index = rowIndexOf(event)
      if (dragged.current.length === 0 || index < 0) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'move'
      const box = (event.target as Element).closest('[role=row]')!.getBoundingClientRect()
      setDropIndex(index + (event.clientY > box.top + box.height / 2 ? 1 : 0))
    },
    onDrop: (event: DragEvent) => {
      if (dropIndex === null || dragged.current.length === 0) return
      event.preventDefault()
      moveRows(dragged.current, ids[dropIndex] ?? null)
    },
    onDragEnd: () => {
      dragged.current = []
      setDropIndex(null)
    }
  }
  const pagePx = scroller.current?.clientHeight ?? 320
  const bindings = [
    { key: 'j', label: 'Next row', run: () => moveTo(cursor + 1) },
    { key: 'k', label: 'Previous row', run: () => moveTo(cursor - 1) },
    ...(onOpen ? [{ key: 'Enter', label: 'Open row', run: openCursor }] : []),
    ...(marks
      ? [
          { key: 'x', label: 'Select row', run: () => toggleMark(cursor, false) },
          { key: 'X', label: 'Select up to this row', run: () => toggleMark(cursor, true) }
        ]
      : [])
  ]
  const orderKeys = onReorder
    ? [
        { key: 'Alt+ArrowUp', label: 'Move row up', run: () => shiftCursor(-1) },
        { key: 'Alt+ArrowDown', label: 'Move row down', run: () => shiftCursor(1) }
      ]
    : []
  useKeys(label, [...bindings, ...orderKeys], primary)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(pagePx / rowPx) - 2)
    const moves: Record<string, number> = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + page,
      PageUp: cursor - page,
      Home: 0,
      End: rows.length - 1
    }
    const target = moves[event.key]
    if (target !== undefined) moveTo(target)
    else if (primary) return
    else {
      const binding = bindings.find(({ key }) => key === event.key)
      if (!binding) return
      binding.run()
    }
    event.preventDefault()
  }

  const tracks = [...(marks ? ['32px'] : []), ...columns.map(({ width }) => width)].join(' ')
  const allMarked = marks !== undefined && rows.length > 0 && ids.every((each) => marks.has(each))
  return (
    <div
      className={classes.table}
      style={rowPx === ROW_PX ? undefined : ({ '--row': `${rowPx}px` } as CSSProperties)}
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={marks !== undefined}
      tabIndex={0}
      aria-activedescendant={cursor >= 0 ? `${id}-${cursor}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div className={classes.head} role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
        {marks && (
          <span className={classes.check} role="columnheader">
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label="Select all rows shown"
              checked={allMarked}
              onChange={() => onMarks?.(allMarked ? new Set() : new Set(ids))}
            />
          </span>
        )}
        {columns.map((column) => (
          <HeadCell key={column.id} column={column} sort={sort} onSort={setSort} />
        ))}
      </div>
      {rows.length === 0 ? (
        props.empty
      ) : (
        <div
          role="presentation"
          style={{ height: virtualizer.getTotalSize(), position: 'relative' }}
          {...(onReorder ? drag : {})}
        >
          {dropIndex !== null && (
            <i className={classes.dropLine} style={{ transform: `translateY(${dropIndex * rowPx}px)` }} aria-hidden />
          )}
          {items.map((item) => {
            const row = rows[item.index] as Row
            const key = ids[item.index] as string
            return (
              <RowView
                key={key}
                row={row}
                columns={columns as readonly Column<unknown>[]}
                elementId={`${id}-${item.index}`}
                index={item.index}
                topPx={item.start}
                tracks={tracks}
                cursor={item.index === cursor}
                open={key === openId}
                stale={props.isStale?.(row) ?? false}
                marked={marks ? marks.has(key) : null}
                draggable={onReorder !== undefined}
                act={act}
              />
            )
          })}
        </div>
      )}
    </div>
  )
}

interface RowViewProps {
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
  /** The newest handler, behind a ref: rows need not be drawn again when it changes. */
  act: RefObject<(index: number, kind: 'open' | 'mark', range: boolean) => void>
}

// A row is drawn again only when something that it shows has changed.
const RowView = memo(function RowView({
  row,
  columns,
  elementId,
  index,
  topPx,
  tracks,
  cursor,
  open,
  stale,
  marked,
  draggable,
  act
}: RowViewProps) {
  return (
    <div
      className={classes.row}
      id={elementId}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={marked ?? open}
      data-cursor={cursor || undefined}
      data-open={open || undefined}
      data-marked={marked || undefined}
      data-stale={stale || undefined}
      draggable={draggable || undefined}
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

/** The row under the pointer, as it stands in the table; -1 beside all rows. */
function rowIndexOf(event: DragEvent): number {
  const row = (event.target as Element).closest('[role=row]')
  return row === null ? -1 : Number(row.getAttribute('aria-rowindex')) - 2
}

type Sort = { id: string; descending: boolean } | null

function HeadCell<Row>({ column, sort, onSort }: { column: Column<Row>; sort: Sort; onSort: (sort: Sort) => void }) {
  const mine = sort?.id === column.id ? sort : null
  if (!column.sortBy) {
    return (
      <span className={classes.cell} role="columnheader" data-align={column.align}>
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

function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort): readonly Row[] {
  const valueOf = columns.find(({ id }) => id === sort?.id)?.sortBy
  if (!sort || !valueOf) return rows
  const direction = sort.descending ? -1 : 1
  return [...rows].sort((left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)]
    // What has no value stands last in both directions.
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return (
      direction *
      (typeof a === 'string' && typeof b === 'string'
        ? a.localeCompare(b, undefined, { numeric: true })
        : Number(a) - Number(b))
    )
  })
}

function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(0)
  useEffect(() => {
    if (!element.current || typeof ResizeObserver === 'undefined') return
    const observer = new ResizeObserver(([entry]) => setWidthPx(Math.round(entry?.contentRect.width ?? 0)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return widthPx
}
