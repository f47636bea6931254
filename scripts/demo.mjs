/** `npm run demo` sets up what the demo needs (as `npm start` and `npm test` do), then runs demo.ts on Node 24. */
import { ensureBuilt } from './setup/build.mjs'
import { readDemoArguments, USAGE } from './setup/demo-arguments.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { inRoot, nodeBinary } from './setup/platform.mjs'
import { runInOurPlace } from './setup/run-in-our-place.mjs'
import { showFailure } from './setup/steps.mjs'
import { ensureDemoEnvironment } from './setup/test-environment.mjs'

const wanted = readDemoArguments(process.argv.slice(2))
if ('problem' in wanted) {
  console.error(`${wanted.problem}\n\n${USAGE}`)
  process.exit(2)
}
if (wanted.help) {
  console.log(USAGE)
  process.exit(0)
}
try {
  await Promise.all([ensureNodeModules().then(ensureBuilt), ensureDemoEnvironment()])
  process.exitCode = await runInOurPlace(nodeBinary, [inRoot('scripts', 'demo.ts'), ...process.argv.slice(2)])
} catch (error) {
  showFailure(error)
  process.exit(1)
}
