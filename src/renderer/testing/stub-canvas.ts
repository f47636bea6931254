/** jsdom draws nothing, and xterm does not open without a canvas and a visible size. */
export function stubCanvas(): void {
  const nothing: unknown = new Proxy(() => nothing, {
    get: (_target, name) => (name === Symbol.toPrimitive ? () => 0 : nothing),
    set: () => true
  })
  Object.defineProperty(HTMLCanvasElement.prototype, 'getContext', {
    configurable: true,
    get: () => () => nothing,
    set: () => {}
  })
  window.IntersectionObserver = class {
    observe() {}
    disconnect() {}
  } as unknown as typeof IntersectionObserver
}

/**
 * Call this in `afterAll`. A terminal uses `window` until shortly after it closes (log-screen.ts), so jsdom must last
 * longer.
 */
export function outliveTerminals(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150))
}
