/** `npm run setup:node`: the npm packages, and the Node 24 among them that runs everything. */
import { ensureNodeModules } from './setup/node-modules.mjs'
import { showFailure } from './setup/steps.mjs'

try {
  await ensureNodeModules()
} catch (error) {
  showFailure(error)
  process.exit(1)
}
