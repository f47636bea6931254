/**
 * `npm run test:electron` runs the desktop's specs on a real Electron, with a display, a window manager and a session
 * bus of their own: on the one that SCRAPDECK_ELECTRON names, or else on an older one (e2e/older-electron). Further
 * words choose specs.
 */
import { spawnSync } from 'node:child_process'
import { ensureBuilt } from './setup/build.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { ensureDisplay, ensureOlderElectron, olderElectron } from './setup/older-electron.mjs'
import { childEnvironment, inRoot, nodeBinary, packageFile, rootDirectory } from './setup/platform.mjs'
import { commandStep, showFailure } from './setup/steps.mjs'
import { ensureTestEnvironment, readTestEnvironment } from './setup/test-environment.mjs'

const SCREEN = '-screen 0 1920x1080x24'

/** A display, a session bus and a window manager. Other systems have them. */
const SESSION = ['xvfb-run', '-a', '-s', SCREEN, 'dbus-run-session', '--', inRoot('e2e', 'electron', 'in-session.sh')]

try {
  const nodeModules = ensureNodeModules()
  await ensureTestEnvironment({ isFull: true, nodeModules })
  await ensureBuilt()
  const environment = process.env.SCRAPDECK_ELECTRON === undefined ? await prepareOlderElectron() : {}
  const electron = environment.SCRAPDECK_ELECTRON ?? process.env.SCRAPDECK_ELECTRON ?? ''
  if (process.platform === 'linux') await ensureDisplay(electron)
  process.exitCode = runSpecs(environment)
} catch (error) {
  showFailure(error)
  process.exitCode = 1
}

/** @returns {Promise<Record<string, string>>} */
async function prepareOlderElectron() {
  await ensureOlderElectron()
  await commandStep({
    title: 'Build for an older Electron',
    command: nodeBinary,
    args: ['e2e/older-electron/build.ts']
  })
  return {
    SCRAPDECK_ELECTRON: olderElectron.binary,
    SCRAPDECK_ELECTRON_APP: olderElectron.appDirectory,
    SCRAPDECK_TEST_ENGINE: inRoot('e2e', 'older-electron', 'engine-process.ts'),
    SCRAPDECK_TEST_NODE: nodeBinary
  }
}

/** @param {Record<string, string>} environment */
function runSpecs(environment) {
  const config = ['--config', 'e2e/playwright.config.ts', '--reporter=list']
  // Each spec starts an app of its own, and they share one keyboard and one pointer.
  const specs = ['--project', 'desktop', '--project', 'electron', '--workers', '1', ...process.argv.slice(2)]
  const run = [nodeBinary, packageFile('@playwright/test/cli.js'), 'test', ...config, ...specs]
  const [command = nodeBinary, ...args] = process.platform === 'linux' ? [...SESSION, ...run] : run
  const started = spawnSync(command, args, {
    cwd: rootDirectory,
    stdio: 'inherit',
    env: {
      ...childEnvironment(),
      ...environment,
      SERVICE_ENTRY: 'out/service/scrapdeck.js',
      CHROMIUM: readTestEnvironment().chromium ?? ''
    }
  })
  if (started.error) throw started.error
  return started.status ?? 1
}
