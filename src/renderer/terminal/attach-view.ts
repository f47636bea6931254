/** What a log on the page does when its element changes. */
interface AttachedView {
  fit(): void
  setVisible(isVisible: boolean): void
  scrollByWheel(event: WheelEvent): void
}

/** Keeps the size, the use of WebGL and the scrolling of a view in sync with the page, until the result is called. */
export function attachView(view: AttachedView, element: HTMLElement): () => void {
  const sizes = new ResizeObserver(() => view.fit())
  sizes.observe(element)
  const sight = new IntersectionObserver(([entry]) => view.setVisible(entry?.isIntersecting ?? false))
  sight.observe(element)
  // React's own listener is passive: the page would scroll too.
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) return
    event.preventDefault()
    event.stopPropagation()
    view.scrollByWheel(event)
  }
  element.addEventListener('wheel', onWheel, { passive: false, capture: true })
  return () => {
    element.removeEventListener('wheel', onWheel, { capture: true })
    sizes.disconnect()
    sight.disconnect()
  }
}
