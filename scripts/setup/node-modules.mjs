/** node_modules as required by package-lock.json, including the Node 24 that everything else runs on. */
import fs from 'node:fs'
import { inRoot, nodeBinary, npmCommand } from './platform.mjs'
import { StepFailed, commandStep } from './steps.mjs'

const REACH = 'check that this machine can reach the npm registry (`npm ping`), then run the command again.'

export async function ensureNodeModules() {
  if (!matchesLock()) {
    await commandStep({
      title: 'npm packages',
      command: npmCommand,
      // Only the script of `node` is needed, below: better-sqlite3 ships its binaries, and building it would need a
      // compiler.
      args: ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      next: REACH
    })
  }
  if (fs.existsSync(nodeBinary)) return
  await commandStep({ title: 'Node 24', command: npmCommand, args: ['rebuild', 'node'], next: REACH })
  if (fs.existsSync(nodeBinary)) return
  throw new StepFailed(
    'Node 24',
    `The npm package \`node\` brought no program for ${process.platform} ${process.arch}.\n` +
      '  What to do: install Node 24 from nodejs.org and run `node src/cli/bin.ts serve`.'
  )
}

/**
 * npm records what it installed in node_modules/.package-lock.json. Comparing that with the lock also detects an
 * interrupted or manual installation, which a stamp of our own would not.
 */
function matchesLock() {
  const installed = readPackages(inRoot('node_modules', '.package-lock.json'))
  return Object.entries(readPackages(inRoot('package-lock.json'))).every(
    ([place, wanted]) => place === '' || wanted.optional || installed[place]?.version === wanted.version
  )
}

/** @param {string} file @returns {Record<string, { version: string, optional?: boolean }>} */
function readPackages(file) {
  if (!fs.existsSync(file)) return {}
  return JSON.parse(fs.readFileSync(file, 'utf8')).packages
}
