import type { Node } from '../../../shared/contract/index.ts'
import { cellCount, cellPitch, cornerOf, type FleetLayout, ROW_PX } from './fleet-layout.ts'

interface Picture {
  nodes: readonly Node[]
  layout: FleetLayout
  widthPx: number
  heightPx: number
  scrollPx: number
}

/** Draws the rows in sight. Colours and the font are those of the page. */
export function drawFleet(canvas: HTMLCanvasElement, { nodes, layout, widthPx, heightPx, scrollPx }: Picture): void {
  const context = canvas.getContext('2d')
  if (!context) return
  const ratio = window.devicePixelRatio || 1
  canvas.width = Math.round(widthPx * ratio)
  canvas.height = Math.round(heightPx * ratio)
  canvas.style.width = `${widthPx}px`
  canvas.style.height = `${heightPx}px`
  context.setTransform(ratio, 0, 0, ratio, 0, -scrollPx * ratio)
  const style = getComputedStyle(canvas)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const paint = {
    run: colour('run'),
    bad: colour('bad'),
    ok: colour('ok'),
    off: colour('off'),
    line: colour('line-strong'),
    dim: colour('dim'),
    faint: colour('faint')
  }
  const font = style.fontFamily
  context.textBaseline = 'middle'

  const firstRow = Math.max(0, Math.floor(scrollPx / ROW_PX))
  const lastRow = Math.min(layout.rows, Math.ceil((scrollPx + heightPx) / ROW_PX))
  for (let index = firstRow * layout.columns; index < Math.min(nodes.length, lastRow * layout.columns); index++) {
    const node = nodes[index] as Node
    const { x, y } = cornerOf(layout, index)
    const middle = y + ROW_PX / 2
    const trouble = !['up', 'unknown'].includes(node.health)
    drawDot(context, x + 4, middle, node, paint)
    context.font = `12px ${font}`
    context.fillStyle = paint.dim
    context.textAlign = 'left'
    context.fillText(fit(context, node.name, layout.cellsX - 26), x + 18, middle + 0.5)

    const pitch = cellPitch(layout, node)
    const gap = pitch > 6 ? 2 : pitch > 3 ? 1 : 0
    for (let slot = 0; slot < cellCount(node); slot++) {
      const run = node.runs[slot]
      const [left, top, width, height] = [x + layout.cellsX + slot * pitch, middle - 6, pitch - gap, 12]
      if (run === undefined) outline(context, left, top, width, height, paint.line)
      else if (trouble) fill(context, left, top, width, height, paint.bad)
      else if (run.jobId === null) hatch(context, left, top, width, height, paint.off)
      else if (run.state === 'starting') {
        outline(context, left, top, width, height, paint.run)
        context.fillStyle = paint.run
        context.fillRect(left + 1, top + height / 2, width - 2, height / 2 - 1)
      } else fill(context, left, top, width, height, paint.run)
    }
    context.font = `11.5px ${font}`
    context.fillStyle = trouble ? paint.bad : paint.faint
    context.textAlign = 'right'
    context.fillText(noteOf(node), x + layout.columnPx, middle + 0.5)
  }
}

function noteOf(node: Node): string {
  if (node.health === 'unauthorized') return 'password'
  if (node.health === 'invalid') return 'not Scrapyd'
  if (node.health !== 'up') return node.health
  if (node.mode !== 'active') return node.mode
  return node.latencyMs === null || node.kind === 'local' ? '' : `${Math.round(node.latencyMs)} ms`
}

function drawDot(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  node: Node,
  paint: { ok: string; bad: string; off: string }
): void {
  context.beginPath()
  if (!['up', 'unknown'].includes(node.health)) {
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

function fill(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string
): void {
  context.fillStyle = colour
  context.beginPath()
  context.roundRect(x, y, width, height, Math.min(2.5, width / 3))
  context.fill()
}

function outline(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string
): void {
  context.strokeStyle = colour
  context.lineWidth = 1
  context.beginPath()
  context.roundRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), height - 1, Math.min(2.5, width / 3))
  context.stroke()
}

function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string
): void {
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
  outline(context, x, y, width, height, colour)
}

function fit(context: CanvasRenderingContext2D, text: string, widthPx: number): string {
  if (context.measureText(text).width <= widthPx) return text
  let length = text.length - 1
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > widthPx) length--
  return `${text.slice(0, length)}…`
}
