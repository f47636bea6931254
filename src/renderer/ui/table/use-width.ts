import { type RefObject, useLayoutEffect, useState } from 'react'

/** In pixels, known before the first paint and updated on resize; 0 where nothing is laid out. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
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
