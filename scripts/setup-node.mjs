/** `npm run setup:node` installs the npm packages. One of them is the Node 24 that runs everything. */
import { ensureNodeModules } from './setup/node-modules.mjs'
import { showFailure } from './setup/steps.mjs'

try {
  await ensureNodeModules()
} catch (error) {
  showFailure(error)
  process.exit(1)
}
