import { type PointerEvent, useRef } from 'react'
import classes from './log-scrollbar.module.css'
import type { LogSnapshot, LogView } from './log-view.ts'

const MIN_THUMB_PX = 24
const MOST_TICKS = 200

/** The place of what is visible in the whole log, by bytes, and of the matches. Dragging it goes anywhere at once. */
export function LogScrollbar({ view, snapshot }: { view: LogView | null; snapshot: LogSnapshot }) {
  const track = useRef<HTMLDivElement>(null)
  const { visible, search, sizeBytes } = snapshot
  const goTo = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect()
    view?.goToShare(Math.min(1, Math.max(0, (event.clientY - box.top) / box.height)))
  }
  if (visible.from <= 0 && visible.to >= 1) return null
  const found = search?.found ?? []
  const every = Math.max(1, Math.ceil(found.length / MOST_TICKS))
  return (
    <div
      ref={track}
      className={classes.track}
      aria-hidden
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        goTo(event)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event)
      }}
    >
      {found.map(
        ({ offset }, index) =>
          index % every === 0 && (
            <i key={offset} className={classes.tick} style={{ top: `${(offset / Math.max(1, sizeBytes)) * 100}%` }} />
          )
      )}
      <div
        className={classes.thumb}
        style={{
          top: `calc(${visible.from * 100}% - ${visible.from * MIN_THUMB_PX}px)`,
          height: `max(${MIN_THUMB_PX}px, ${(visible.to - visible.from) * 100}%)`
        }}
      />
    </div>
  )
}
