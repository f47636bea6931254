import type { Node, NodeRun } from '../../../shared/contract/index.ts'

export const ROW_PX = 21
const COLUMN_MIN_PX = 300
const COLUMN_GAP_PX = 24
const DOT_PX = 18
const NAME_PX = 104
const NOTE_PX = 66
const CELL_MAX_PX = 12

export type FleetLayout = ReturnType<typeof layoutFleet>
export type FleetSpot = { node: Node; run: NodeRun | null; slot: number | null }

/** Positions a fleet's cells within a width. Rows fill the columns from left to right, in reading order. */
export function layoutFleet(nodeCount: number, widthPx: number) {
  const columns = Math.max(
    1,
    Math.min(nodeCount, Math.floor((widthPx + COLUMN_GAP_PX) / (COLUMN_MIN_PX + COLUMN_GAP_PX)))
  )
  const columnPx = (widthPx - (columns - 1) * COLUMN_GAP_PX) / columns
  const rows = Math.ceil(nodeCount / columns)
  return {
    columns,
    columnPx,
    rows,
    heightPx: rows * ROW_PX,
    cellsX: DOT_PX + NAME_PX,
    cellsPx: columnPx - DOT_PX - NAME_PX - NOTE_PX
  }
}

export function cornerOf(layout: FleetLayout, index: number): { x: number; y: number } {
  return {
    x: (index % layout.columns) * (layout.columnPx + COLUMN_GAP_PX),
    y: Math.floor(index / layout.columns) * ROW_PX
  }
}

/** One cell per slot, or one per job if the node runs more jobs than it has slots (external jobs). */
export const cellCount = (node: Node): number => Math.max(node.slots, node.runs.length)

export const cellPitch = (layout: FleetLayout, node: Node): number =>
  Math.min(CELL_MAX_PX, layout.cellsPx / Math.max(1, cellCount(node)))

/** What is at a point: a slot of a node, or the node itself. null: neither. */
export function spotAt(layout: FleetLayout, nodes: readonly Node[], x: number, y: number): FleetSpot | null {
  const row = Math.floor(y / ROW_PX)
  const column = Math.floor(x / (layout.columnPx + COLUMN_GAP_PX))
  const node = column < layout.columns ? nodes[row * layout.columns + column] : undefined
  if (node === undefined || x < 0 || y < 0) return null
  const inside = x - column * (layout.columnPx + COLUMN_GAP_PX)
  if (inside > layout.columnPx) return null
  const slot = Math.floor((inside - layout.cellsX) / cellPitch(layout, node))
  if (slot < 0 || slot >= cellCount(node)) return { node, run: null, slot: null }
  return { node, run: node.runs[slot] ?? null, slot }
}
