import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  type RefObject,
  useLayoutEffect,
  memo,
  type DragEvent
} from 'react'
import { useKeys } from '../../state/keys.ts'
import { type Column, type Sort, sortRows } from './column.ts'
import classes from './virtual-table.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

export interface VirtualTableProps<Row> {
  label: string
  rows: readonly Row[]
  rowId: (row: Row) => string
  columns: readonly Column<Row>[]
  openId?: string | null
  onOpen?: (row: Row) => void
  /** Marked rows. Absent: the table has no check boxes, and the keys `x` and Shift-`x` do nothing. */
  marks?: ReadonlySet<string>
  onMarks?: (marks: ReadonlySet<string>) => void
  onEndReached?: () => void
  /** Whether a row's values are outdated, which grays out the row. */
  isStale?: (row: Row) => boolean
  /** Whether j, k, Enter and x work without a click into the table first. At most one table per screen can set this. */
  primary?: boolean
  /** Enables reordering. Moves the rows `ids` right before the row `before`, or to the end if that is null. */
  onReorder?: ((ids: readonly string[], before: string | null) => void) | undefined
  empty?: ReactNode
  /** The minimum width of rows. A narrower table scrolls sideways. */
  minWidthPx?: number
  /** Default: 32. */
  rowPx?: number
}

const ROW_PX = 32

/** Renders only the visible rows. j/k or the arrow keys move the cursor. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, rowId, openId = null, onOpen, marks, onMarks, onEndReached, primary = false } = props
  const { rowPx = ROW_PX } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const widthPx = useWidth(scroller)
  const [sort, setSort] = useState<Sort>(null)
  const [cursorId, setCursorId] = useState<string | null>(null)
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
  const { drag, dropIndex, orderKeys } = useReorder({
    ids,
    cursor,
    marks,
    // Rows sorted by a value cannot be reordered.
    onReorder: sort === null ? props.onReorder : undefined
  })
  const pagePx = scroller.current?.clientHeight ?? 320
  const bindings = [
    { key: 'j', label: texts.nextRow, run: () => moveTo(cursor + 1) },
    { key: 'k', label: texts.previousRow, run: () => moveTo(cursor - 1) },
    ...(onOpen ? [{ key: 'Enter', label: texts.openRow, run: openCursor }] : []),
    ...(marks
      ? [
          { key: 'x', label: texts.selectRow, run: () => toggleMark(cursor, false) },
          { key: 'X', label: texts.selectUpToThisRow, run: () => toggleMark(cursor, true) }
        ]
      : [])
  ]
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

  const minWidth = props.minWidthPx
  const tracks = [...(marks ? ['32px'] : []), ...columns.map(({ width }) => width)].join(' ')
  const allMarked = marks !== undefined && rows.length > 0 && ids.every((each) => marks.has(each))
  return (
    <div
      className={`${classes.table} grow`}
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
      <div className={classes.head} role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks, minWidth }}>
        {marks && (
          <span className={classes.check} role="columnheader">
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={texts.selectAllRowsShown}
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
          style={{ height: virtualizer.getTotalSize(), position: 'relative', minWidth }}
          {...drag}
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
                draggable={drag !== null}
                act={act}
              />
            )
          })}
        </div>
      )}
    </div>
  )
}

interface HeadCellProps<Row> {
  column: Column<Row>
  sort: Sort
  onSort: (sort: Sort) => void
}

/** Clicks sort ascending, then descending, then not at all. */
function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>) {
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

/** The width in pixels, known before the first paint and updated on resize. 0 without layout. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(0)
  useLayoutEffect(() => {
    if (!element.current || typeof ResizeObserver === 'undefined') return
    setWidthPx(element.current.clientWidth)
    const observer = new ResizeObserver(([entry]) => setWidthPx(Math.round(entry?.contentRect.width ?? 0)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return widthPx
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
  /** The latest handler. It is a ref, so that a change does not re-render the rows. */
  act: RefObject<(index: number, kind: 'open' | 'mark', range: boolean) => void>
}

const RowView = memo(function RowView(props: RowViewProps) {
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
            aria-label={texts.selectRow}
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

interface ReorderOptions {
  ids: readonly string[]
  /** Index of the row that the keys move. -1: none. */
  cursor: number
  marks: ReadonlySet<string> | undefined
  onReorder: ((ids: readonly string[], before: string | null) => void) | undefined
}

/** Reorders rows by dragging or with Alt and the arrow keys. Moving a marked row moves all marked rows. */
function useReorder({ ids, cursor, marks, onReorder }: ReorderOptions) {
  const [dropIndex, setDropIndex] = useState<number | null>(null)
  const dragged = useRef<readonly string[]>([])
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
  const drag = onReorder && {
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
  const orderKeys = onReorder
    ? [
        { key: 'Alt+ArrowUp', label: texts.moveRowUp, run: () => shiftCursor(-1) },
        { key: 'Alt+ArrowDown', label: texts.moveRowDown, run: () => shiftCursor(1) }
      ]
    : []
  return { drag: drag ?? null, dropIndex, orderKeys }
}

function rowIndexOf(event: DragEvent): number {
  const row = (event.target as Element).closest('[role=row]')
  return row === null ? -1 : Number(row.getAttribute('aria-rowindex')) - 2
}
