import { registerHooks } from 'node:module'

/** A bug to plant: in `file`, under src/engine, the text `from` becomes `to`. */
export interface Mutation {
  file: string
  from: string
  to: string
}

/** Before any module of the engine is loaded: keeps real time out of it, and plants bugs. */
export function registerSimulationHooks(mutations: readonly Mutation[]): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'node:zlib' && context.parentURL?.endsWith('/output/log-archive.ts') === true) {
        return next(new URL('no-zlib.ts', import.meta.url).href, context)
      }
      return next(specifier, context)
    },
    load(url, context, next) {
      const loaded = next(url, context)
      const meant = mutations.filter(({ file }) => url.endsWith(`/src/engine/${file}`))
      if (meant.length === 0) return loaded
      let source = String(loaded.source)
      for (const { file, from, to } of meant) {
        const parts = source.split(from)
        if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, not once: ${from}`)
        source = parts.join(to)
      }
      return { ...loaded, source }
    }
  })
}
