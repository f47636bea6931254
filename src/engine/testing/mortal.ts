/** One life of an engine: its calls to the outside, until it dies at one of them as if by kill -9. */
export interface Life {
  /** The calls so far, in order: `store.applyChanges`, `n1.schedule`. */
  readonly calls: string[]
  /** Resolves when the engine dies, otherwise never. */
  readonly death: Promise<void>
  isDead(): boolean
  /** Wraps `target` for this engine. After the engine has died, calls have no effect and never return. */
  lend<T extends object>(name: string, target: T, isCounted: (method: string) => boolean): T
}

/** `before`: the call has no effect. `after`: the call has its effect, but the engine never receives the result. */
export interface Death {
  call: number
  when: 'before' | 'after'
}

export function beginLife(death: Death | null): Life {
  const calls: string[] = []
  const died = Promise.withResolvers<void>()
  let isDead = false

  function die(): Promise<never> {
    isDead = true
    died.resolve()
    return new Promise(() => {})
  }

  async function pass(name: string, isCounted: boolean, call: () => unknown): Promise<unknown> {
    if (isDead) return die()
    const isLast = isCounted && calls.push(name) - 1 === death?.call
    if (isLast && death?.when === 'before') return die()
    try {
      const answer = await call()
      return isLast || isDead ? die() : answer
    } catch (error) {
      if (isLast || isDead) return die()
      throw error
    }
  }

  return {
    calls,
    death: died.promise,
    isDead: () => isDead,
    lend: (name, target, isCounted) =>
      new Proxy(target, {
        get(_target, property) {
          const value: unknown = Reflect.get(target, property)
          if (typeof value !== 'function' || typeof property !== 'string') return value
          if (property === 'onChange' || property === 'onQueueChange') return value.bind(target)
          return (...parameters: unknown[]) =>
            pass(`${name}.${property}`, isCounted(property), () => value.apply(target, parameters))
        }
      })
  }
}
