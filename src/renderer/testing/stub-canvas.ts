/** For tests: jsdom draws nothing, and xterm will not open without something to draw on and to be seen with. */
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

/** For `afterAll`: a terminal lets go of the window a moment after it closed (log-view.ts); jsdom must last as long. */
export function outliveTerminals(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150))
}
