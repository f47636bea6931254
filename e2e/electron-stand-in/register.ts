import { registerHooks } from 'node:module'
import { listenForEvaluations } from './control.ts'

// Loaded with `node --import`. Resolves `import … from 'electron'` to the stand-in from then on.
const standIn = new URL('./electron.ts', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron' || specifier === 'electron/main'
      ? { url: standIn, shortCircuit: true }
      : next(specifier, context)
})
listenForEvaluations()
