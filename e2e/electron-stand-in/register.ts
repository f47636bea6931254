import { registerHooks } from 'node:module'
import { listenForEvaluations } from './control.ts'

// Loaded with `node --import`. From then on, `import … from 'electron'` resolves to the stand-in, for the built
// bundles and everything they import. All other imports resolve as usual.
const standIn = new URL('./electron.ts', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron' || specifier === 'electron/main'
      ? { url: standIn, shortCircuit: true }
      : next(specifier, context)
})
listenForEvaluations()
