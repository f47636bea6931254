import { registerHooks } from 'node:module'

/** Call before loading any module of the engine: keeps real time out of it. */
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
