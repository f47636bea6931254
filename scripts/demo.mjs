/** `npm run demo`: sets up what the demo needs (as `npm start` and `npm test` do), then runs demo.ts on Node 24. */
import { ensureBuilt } from './setup/build.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { inRoot, nodeBinary } from './setup/platform.mjs'
import { runInOurPlace } from './setup/run-in-our-place.mjs'
import { showFailure } from './setup/steps.mjs'
import { ensureTestEnvironment } from './setup/test-environment.mjs'

try {
  await Promise.all([ensureNodeModules().then(ensureBuilt), ensureTestEnvironment({ withBrowser: false })])
  process.exitCode = await runInOurPlace(nodeBinary, [inRoot('scripts', 'demo.ts'), ...process.argv.slice(2)])
} catch (error) {
  showFailure(error)
  process.exit(1)
}
