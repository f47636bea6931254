/** The type checker, once for each layer: each may know only the globals of the place it runs in. Two at a time. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, inRoot, nodeBinary, packageFile, rootDirectory } from './setup/platform.mjs'

const AT_ONCE = 2

const layers = ['src', '.']
  .flatMap((folder) => fs.readdirSync(inRoot(folder)).map((name) => path.join(folder, name)))
  .filter((folder) => fs.existsSync(inRoot(folder, 'tsconfig.json')))
// The largest first, or the last one is waited for alone.
const waiting = layers.sort((one, other) => weight(other) - weight(one))
/** @type {string[]} */
const failed = []

await Promise.all(Array.from({ length: AT_ONCE }, checkNext))
if (failed.length > 0) {
  console.error(`\nTypes do not fit in: ${failed.join(', ')}`)
  process.exitCode = 1
}

/** @returns {Promise<void>} */
async function checkNext() {
  const layer = waiting.shift()
  if (layer === undefined) return
  const { code, output } = await check(layer)
  console.log(`${code === 0 ? '✓' : '✗'} ${layer}\n${output}`.trimEnd())
  if (code !== 0) failed.push(layer)
  return checkNext()
}

/** @param {string} layer @returns {Promise<{ code: unknown, output: string }>} */
function check(layer) {
  const args = [
    packageFile('typescript-native/bin/tsc'),
    '--noEmit',
    ...remembering(layer),
    '--pretty',
    'false',
    '-p',
    layer
  ]
  return new Promise((resolve) => {
    execFile(nodeBinary, args, { cwd: rootDirectory, maxBuffer: 50_000_000 }, (error, stdout) => {
      resolve({ code: error ? error.code : 0, output: stdout })
    })
  })
}

/** The next run checks only what changed. @param {string} layer */
function remembering(layer) {
  const file = path.join(cacheDirectory, 'types', `${layer.replaceAll(path.sep, '-')}.tsbuildinfo`)
  return ['--incremental', '--tsBuildInfoFile', file]
}

/** @param {string} layer */
function weight(layer) {
  return fs.readdirSync(inRoot(layer), { recursive: true }).length
}
