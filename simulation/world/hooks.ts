import { registerHooks } from 'node:module'

/** Keeps real time out of the engine. Call this before loading any module of the engine. */
export function registerSimulationHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'node:zlib' && context.parentURL?.includes('/logs/archive/') === true) {
        return next(new URL('no-zlib.ts', import.meta.url).href, context)
      }
      return next(specifier, context)
    }
  })
}
