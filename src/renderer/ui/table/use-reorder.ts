import { type DragEvent, useRef, useState } from 'react'

interface ReorderOptions {
  ids: readonly string[]
  /** Index of the row that the keys move; -1: none. */
  cursor: number
  marks: ReadonlySet<string> | undefined
  /** Puts these rows right before that row, or at the end; absent: the order cannot be changed. */
  onReorder: ((ids: readonly string[], before: string | null) => void) | undefined
}

/** Moves rows, by dragging or with Alt and the arrow keys: a marked row takes the other marked ones with it. */
export function useReorder({ ids, cursor, marks, onReorder }: ReorderOptions) {
  const [dropIndex, setDropIndex] = useState<number | null>(null)
  const dragged = useRef<readonly string[]>([])
  /** The marked rows, if the row is one of them; otherwise the row alone. */
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
        { key: 'Alt+ArrowUp', label: 'Move the row up', run: () => shiftCursor(-1) },
        { key: 'Alt+ArrowDown', label: 'Move the row down', run: () => shiftCursor(1) }
      ]
    : []
  return { drag: drag ?? null, dropIndex, orderKeys }
}

/** The index of the row under the pointer; -1: none. */
function rowIndexOf(event: DragEvent): number {
  const row = (event.target as Element).closest('[role=row]')
  return row === null ? -1 : Number(row.getAttribute('aria-rowindex')) - 2
}
