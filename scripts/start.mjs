/**
 * `npm start` installs what is missing, builds if needed and opens the app. Without Electron or a display, it runs
 * the same engine as a service with the UI in the browser. `npm run serve` passes `--service`: only the service, on
 * exactly the given port. Runs on Node 20, before anything is installed.
 */
import net from 'node:net'
import { ensureBuilt } from './setup/build.mjs'
import { findElectron } from './setup/electron.mjs'
import { problemOfSandbox, readSandboxFacts, splitPort } from './setup/electron-start.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { inRoot, nodeBinary, rootDirectory } from './setup/platform.mjs'
import { ensurePythonEnvironment } from './setup/python-environment.mjs'
import { runInOurPlace } from './setup/run-in-our-place.mjs'
import { StepFailed, say, showFailure } from './setup/steps.mjs'

const USUAL_PORT = 6800
/** The ports to choose from. 6801 to 6809 are left to other Scrapyds on this machine, including the demo's. */
const OTHER_PORTS = { from: 6810, to: 6899 }
/**
 * If Electron ends with an error within this time, the window never opened, for example because this user can have no
 * sandbox or a library is missing.
 */
const FAILED_START_MS = 10_000

const given = process.argv.slice(2)
const serviceOnly = given[0] === '--service'
const passedOn = serviceOnly ? given.slice(1) : given

try {
  await Promise.all([ensureNodeModules().then(ensureBuilt), ensurePythonEnvironment()])
  process.exitCode = serviceOnly ? await serve(passedOn) : await open()
} catch (error) {
  showFailure(error)
  process.exit(1)
}

async function open() {
  const electron = await findElectron()
  if (electron.binary === null) return openInBrowser(electron.reason)
  const problem = problemOfSandbox(readSandboxFacts(electron.binary))
  if (problem !== null) return openInBrowser(problem)
  const beganAt = performance.now()
  const { port, rest } = splitPort(passedOn)
  if (port === '') throw new StepFailed('Start', 'Name a port: npm start -- --port N')
  /** @type {Record<string, string>} */
  const env = port === null ? {} : { SCRAPDECK_PORT: port }
  const code = await runInOurPlace(electron.binary, [rootDirectory, ...rest], env)
  if (code === 0 || performance.now() - beganAt > FAILED_START_MS) return code
  return openInBrowser(`it ended at once with code ${code}`)
}

/** @param {string} reason */
async function openInBrowser(reason) {
  say(`No desktop window: Electron was not started because ${reason}. Use the UI in your browser instead.`)
  const isPortGiven = splitPort(passedOn).port !== null
  return serve(isPortGiven ? passedOn : ['--port', String(await choosePort()), ...passedOn])
}

/** @param {string[]} args */
function serve(args) {
  // Limits the young generation, for which V8 takes 128 MB on a large machine by default.
  return runInOurPlace(nodeBinary, [
    '--max-semi-space-size=16',
    inRoot('out', 'service', 'scrapdeck.js'),
    'serve',
    '--readable-log',
    ...args
  ])
}

async function choosePort() {
  if (await isFree(USUAL_PORT)) return USUAL_PORT
  for (let port = OTHER_PORTS.from; port <= OTHER_PORTS.to; port++) {
    if (!(await isFree(port))) continue
    say(`Port ${USUAL_PORT} is in use by another program, so this one takes ${port}. To choose: npm start -- --port N`)
    return port
  }
  throw new Error(
    `Port ${USUAL_PORT} and ${OTHER_PORTS.from} to ${OTHER_PORTS.to} are in use. Name one: npm start -- --port N`
  )
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
