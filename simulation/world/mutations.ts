import { registerHooks } from 'node:module'

/** Replaces exports of an engine module for the modules that import it. Calls within its own file are unaffected. */
export interface Mutation {
  load: () => Promise<object>
  changes: Changes
}

type Changes = Partial<Record<string, (original: never) => unknown>>
type Changed<Value> = Value extends number ? number : Value

/** Plants are type-checked, so that after a refactoring, a planted bug either still works or does not compile. */
export function mutation<Module extends object>(
  load: () => Promise<Module>,
  changes: { [Name in keyof NoInfer<Module>]?: (original: NoInfer<Module>[Name]) => Changed<NoInfer<Module>[Name]> }
): Mutation {
  return { load, changes: changes as Changes }
}

export function overridden<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
}

const planted = new Map<string, Changes>()

/** Call this before loading any module of the engine. */
export async function plant(mutations: readonly Mutation[]): Promise<void> {
  for (const { load, changes } of mutations) planted.set(await findUrl(load), changes)
  registerHooks({
    load(url, context, next) {
      if (!planted.has(url)) return next(url, context)
      const original = JSON.stringify(`${url}?original`)
      const names = Object.keys(planted.get(url)!)
      const source = [
        `import * as original from ${original}`,
        `import { changedExport } from ${JSON.stringify(import.meta.url)}`,
        `export * from ${original}`,
        ...names.map((name) => `export const ${name} = changedExport(${JSON.stringify(url)}, '${name}', original)`)
      ].join('\n')
      return { format: 'module', shortCircuit: true, source }
    }
  })
}

/** @public Imported by the modules that `plant` writes. */
export function changedExport(url: string, name: string, original: Record<string, unknown>): unknown {
  return planted.get(url)![name]!(original[name] as never)
}

async function findUrl(load: Mutation['load']): Promise<string> {
  let found = ''
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      found = next(specifier, context).url
      return { url: 'data:text/javascript,', shortCircuit: true }
    }
  })
  await load()
  hooks.deregister()
  return found
}
