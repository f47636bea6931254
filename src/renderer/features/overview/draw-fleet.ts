import type { Node } from '../../../shared/contract/index.ts'
import { isTroubled } from '../../ui/status.tsx'
import { cellCount, cellPitch, cornerOf, type FleetLayout, ROW_PX } from './fleet-layout.ts'
import { texts } from '../../../shared/texts/ui/overview.ts'
import { isAway } from '../../../shared/node-health.ts'

interface Picture {
  nodes: readonly Node[]
  layout: FleetLayout
  widthPx: number
  heightPx: number
  scrollPx: number
  /** Light or dark. A change makes the canvas read its colors again. */
  scheme: string
}

type Paint = Record<'run' | 'bad' | 'ok' | 'off' | 'line' | 'dim' | 'faint' | 'font', string>

const drawn = new WeakMap<HTMLCanvasElement, Picture & { ratio: number; paint: Paint }>()

/** Draws all visible rows after scrolling or resizing, otherwise only those with changed nodes. */
export function drawFleet(canvas: HTMLCanvasElement, picture: Picture): void {
  const context = canvas.getContext('2d')
  if (!context) return
  const { nodes, layout, widthPx, heightPx, scrollPx, scheme } = picture
  const ratio = window.devicePixelRatio || 1
  const before = drawn.get(canvas)
  const isSame =
    before !== undefined &&
    before.layout === layout &&
    before.widthPx === widthPx &&
    before.heightPx === heightPx &&
    before.scrollPx === scrollPx &&
    before.scheme === scheme &&
    before.ratio === ratio
  const paint = isSame ? before.paint : readPaint(canvas)
  if (!isSame) {
    canvas.width = Math.round(widthPx * ratio)
    canvas.height = Math.round(heightPx * ratio)
    canvas.style.width = `${widthPx}px`
    canvas.style.height = `${heightPx}px`
  }
  context.setTransform(ratio, 0, 0, ratio, 0, -scrollPx * ratio)
  context.textBaseline = 'middle'

  const firstRow = Math.max(0, Math.floor(scrollPx / ROW_PX))
  const lastRow = Math.min(layout.rows, Math.ceil((scrollPx + heightPx) / ROW_PX))
  const last = Math.min(nodes.length, lastRow * layout.columns)
  for (let index = firstRow * layout.columns; index < last; index++) {
    const node = nodes[index] as Node
    if (isSame) {
      const old = before.nodes[index]
      if (old === node || (old !== undefined && looksAlike(old, node))) continue
      const { x, y } = cornerOf(layout, index)
      // The triangle of a troubled node, and the antialiased edge of the note, can extend slightly beyond the column.
      context.clearRect(x - 2, y, layout.columnPx + 4, ROW_PX)
    }
    drawNode(context, node, layout, index, paint)
  }
  drawn.set(canvas, { ...picture, ratio, paint })
}

function readPaint(canvas: HTMLCanvasElement): Paint {
  const style = getComputedStyle(canvas)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    run: colour('run'),
    bad: colour('bad'),
    ok: colour('ok'),
    off: colour('off'),
    line: colour('line-strong'),
    dim: colour('dim'),
    faint: colour('faint'),
    font: style.fontFamily
  }
}

/**
 * Whether two states of a node are drawn alike. Most changes (last response, which job is in a slot) make no
 * difference.
 */
export function looksAlike(left: Node, right: Node): boolean {
  if (left.name !== right.name || left.health !== right.health || left.mode !== right.mode) return false
  if (left.slots !== right.slots || left.runs.length !== right.runs.length) return false
  if (left.stuckSinceMs !== right.stuckSinceMs || stateWord(left) !== stateWord(right)) return false
  return left.runs.every((run, slot) => {
    const other = right.runs[slot]
    return run.state === other?.state && (run.jobId === null) === (other.jobId === null)
  })
}

function drawNode(context: CanvasRenderingContext2D, node: Node, layout: FleetLayout, index: number, paint: Paint) {
  const { x, y } = cornerOf(layout, index)
  const middle = y + ROW_PX / 2
  const trouble = isTroubled(node)
  drawDot(context, x + 4, middle, node, paint)
  context.font = `12px ${paint.font}`
  context.fillStyle = paint.dim
  context.textAlign = 'left'
  context.fillText(fit(context, node.name, layout.cellsX - 26), x + 18, middle + 0.5)

  const pitch = cellPitch(layout, node)
  const gap = pitch > 6 ? 2 : pitch > 3 ? 1 : 0
  for (let slot = 0; slot < cellCount(node); slot++) {
    const run = node.runs[slot]
    const cell = { x: x + layout.cellsX + slot * pitch, y: middle - 6, width: pitch - gap, height: 12 }
    if (run === undefined) outline(context, cell, paint.line)
    else if (isAway(node.health)) fill(context, cell, paint.bad)
    else if (run.jobId === null) hatch(context, cell, paint.off)
    else if (run.state === 'starting') {
      outline(context, cell, paint.run)
      context.fillStyle = paint.run
      context.fillRect(cell.x + 1, cell.y + cell.height / 2, cell.width - 2, cell.height / 2 - 1)
    } else fill(context, cell, paint.run)
  }
  context.font = `11.5px ${paint.font}`
  context.fillStyle = trouble ? paint.bad : paint.faint
  context.textAlign = 'right'
  context.fillText(stateWord(node), x + layout.columnPx, middle + 0.5)
}

const HEALTH_WORDS: Record<Exclude<Node['health'], 'up'>, string> = {
  unknown: texts.unknown,
  down: texts.nodeDown,
  unauthorized: texts.nodeUnauthorized,
  invalid: texts.nodeInvalid
}

function stateWord(node: Node): string {
  if (node.health !== 'up') return HEALTH_WORDS[node.health]
  if (node.stuckSinceMs !== null) return texts.nodeStuck
  if (node.mode !== 'active') return node.mode === 'cordoned' ? texts.nodeCordoned : texts.nodeDraining
  return node.latencyMs === null || node.kind !== 'scrapyd' ? '' : texts.latency(Math.round(node.latencyMs))
}

function drawDot(context: CanvasRenderingContext2D, x: number, y: number, node: Node, paint: Paint): void {
  context.beginPath()
  if (isTroubled(node)) {
    context.fillStyle = paint.bad
    context.moveTo(x, y - 4.5)
    context.lineTo(x + 5, y + 4)
    context.lineTo(x - 5, y + 4)
    context.fill()
    return
  }
  const ring = node.health === 'unknown' || node.mode !== 'active'
  context.arc(x, y, ring ? 3 : 4, 0, Math.PI * 2)
  context.lineWidth = 2
  if (ring) {
    context.strokeStyle = paint.off
    context.stroke()
  } else {
    context.fillStyle = paint.ok
    context.fill()
  }
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

function fill(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
  context.fillStyle = colour
  context.beginPath()
  context.roundRect(x, y, width, height, Math.min(2.5, width / 3))
  context.fill()
}

function outline(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
  context.strokeStyle = colour
  context.lineWidth = 1
  context.beginPath()
  context.roundRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), height - 1, Math.min(2.5, width / 3))
  context.stroke()
}

function hatch(context: CanvasRenderingContext2D, box: Box, colour: string): void {
  const { x, y, width, height } = box
  context.save()
  context.beginPath()
  context.roundRect(x, y, width, height, Math.min(2.5, width / 3))
  context.clip()
  context.strokeStyle = colour
  context.lineWidth = 1.6
  context.beginPath()
  for (let shift = -height; shift < width; shift += 4) {
    context.moveTo(x + shift, y + height)
    context.lineTo(x + shift + height, y)
  }
  context.stroke()
  context.restore()
  outline(context, box, colour)
}

function fit(context: CanvasRenderingContext2D, text: string, widthPx: number): string {
  if (context.measureText(text).width <= widthPx) return text
  let length = text.length - 1
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > widthPx) length--
  return `${text.slice(0, length)}…`
}
