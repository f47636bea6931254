import { useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { joinFacts } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import { countSlots, splitSlots } from '../../ui/slots-in-use.ts'
import { isTroubled, nodeWord } from '../../ui/status.tsx'
import { drawFleet } from './draw-fleet.ts'
import { type FleetSpot, layoutFleet, spotAt } from './fleet-layout.ts'
import classes from './fleet-map.module.css'
import { texts } from '../../../shared/texts/ui/overview.ts'

const MAX_HEIGHT_PX = 420

/**
 * Shows each slot of the fleet as one cell. The canvas is no larger than the visible part, so a thousand nodes cost as
 * much as ten. The Nodes screen shows the same facts for users who cannot see the picture.
 */
export function FleetMap({ nodes }: { nodes: readonly Node[] }) {
  const navigate = useNavigate()
  const { ref: sizer, width: widthPx } = useElementSize()
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const [scrollPx, setScrollPx] = useState(0)
  const [hover, setHover] = useState<{ spot: FleetSpot; x: number; y: number } | null>(null)
  const scheme = useComputedColorScheme('light')
  const layout = useMemo(() => layoutFleet(nodes.length, widthPx), [nodes.length, widthPx])
  const heightPx = Math.min(layout.heightPx, MAX_HEIGHT_PX)

  useEffect(() => {
    if (canvas.current && widthPx > 0) drawFleet(canvas.current, { nodes, layout, widthPx, heightPx, scrollPx, scheme })
  }, [nodes, layout, widthPx, heightPx, scrollPx, scheme])

  const spotUnder = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect()
    return box ? spotAt(layout, nodes, event.clientX - box.left, event.clientY - box.top + scrollPx) : null
  }
  const onMove = (event: PointerEvent) => {
    const spot = spotUnder(event)
    setHover(spot && { spot, x: event.clientX, y: event.clientY })
  }
  const onClick = (event: PointerEvent) => {
    const spot = spotUnder(event)
    if (!spot) return
    if (spot.run?.jobId) void navigate({ to: '/jobs', search: { job: spot.run.jobId } })
    else void navigate({ to: '/nodes', search: { node: spot.node.id } })
  }
  const troubled = nodes.filter(isTroubled)
  const { used, total: slots } = countSlots(nodes)
  const { inUse, over } = splitSlots(used, slots)
  const note = joinFacts(
    over === null ? texts.slotsInUseOf(inUse, slots) : texts.slotsInUseAndQueued(inUse, slots, over),
    troubled.length > 0 && texts.nodesWithProblems(troubled.length)
  )
  const names = troubled.map(({ name }) => name).join(', ')
  return (
    <Panel title={texts.fleet} note={note} aside={<Legend />}>
      <div ref={sizer}>
        <div
          ref={scroller}
          className={classes.scroller}
          style={{ height: heightPx }}
          onScroll={(event) => setScrollPx(event.currentTarget.scrollTop)}
        >
          <div style={{ height: layout.heightPx }}>
            <canvas
              ref={canvas}
              className={classes.canvas}
              role="img"
              aria-label={
                names === ''
                  ? texts.fleetLabel(inUse, slots, nodes.length)
                  : texts.fleetLabelWithProblems(inUse, slots, nodes.length, names)
              }
              data-point={hover ? true : undefined}
              onPointerMove={onMove}
              onPointerLeave={() => setHover(null)}
              onClick={(event) => onClick(event as unknown as PointerEvent)}
            />
          </div>
        </div>
      </div>
      {hover && <Hint spot={hover.spot} x={hover.x} y={hover.y} />}
    </Panel>
  )
}

function Hint({ spot, x, y }: { spot: FleetSpot; x: number; y: number }) {
  const { node, run, slot } = spot
  const flip = x > window.innerWidth - 280
  return (
    <div
      className={`${classes.hint} small`}
      style={{ top: y + 16, ...(flip ? { right: window.innerWidth - x } : { left: x + 12 }) }}
      aria-hidden
    >
      {run ? (
        <>
          <strong>{showUnseen(`${run.project}/${run.spider}`)}</strong>
          <span>
            {run.jobId === null ? texts.externalJob : run.state}
            {run.sinceMs !== null && ` · ${formatRuntime(Date.now() - run.sinceMs)}`} · {node.name}
          </span>
        </>
      ) : (
        <>
          <strong>{node.name}</strong>
          <span>
            {slot === null || node.health !== 'up'
              ? (node.problem ?? nodeWord(node))
              : node.mode === 'active'
                ? texts.freeSlot
                : texts.freeSlotOfNode(node.mode)}
          </span>
        </>
      )}
    </div>
  )
}

const LEGEND = {
  running: texts.legendRunning,
  starting: texts.starting,
  trouble: texts.legendTrouble,
  free: texts.legendFree,
  external: texts.external
}

function Legend() {
  return (
    <span className={classes.legend}>
      {Object.entries(LEGEND).map(([state, word]) => (
        <span key={state} className="inline">
          <i data-is={state} /> {word}
        </span>
      ))}
    </span>
  )
}
