/** Stubs what Mantine and the virtualizer need and jsdom lacks: sizes, media queries, observers. */
export function stubBrowser(): void {
  window.matchMedia = (query) =>
    ({
      matches: false,
      media: query,
      onchange: null,
      addEventListener: () => {},
      removeEventListener: () => {},
      addListener: () => {},
      removeListener: () => {},
      dispatchEvent: () => false
    }) as MediaQueryList
  window.ResizeObserver = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  window.IntersectionObserver = class {
    root = null
    rootMargin = ''
    scrollMargin = ''
    thresholds = []
    observe() {}
    unobserve() {}
    disconnect() {}
    takeRecords() {
      return []
    }
  }
  Element.prototype.scrollTo = () => {}
  window.scrollTo = () => {}
  Element.prototype.scrollIntoView = () => {}
  HTMLCanvasElement.prototype.getContext = () => null
  for (const [name, value] of Object.entries({
    clientHeight: 600,
    clientWidth: 1200,
    offsetHeight: 600,
    offsetWidth: 1200,
    scrollHeight: 40_000
  })) {
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value })
  }
  Object.defineProperty(document, 'fonts', {
    configurable: true,
    value: { addEventListener: () => {}, removeEventListener: () => {} }
  })
}
