/** Installs node_modules according to package-lock.json, including the Node 24 that runs everything else. */
import fs from 'node:fs'
import path from 'node:path'
import { inRoot, nodeBinary, nodePackage, npmCommand } from './platform.mjs'
import { StepFailed, commandStep, say } from './steps.mjs'

const REACH = 'check that this machine can reach the npm registry (`npm ping`), then run the command again.'

export async function ensureNodeModules() {
  if (!matchesLock()) {
    await commandStep({
      title: 'npm packages',
      command: npmCommand,
      // No package needs its install script. better-sqlite3 contains its binaries, and its script would build them
      // with a compiler.
      args: ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      next: REACH
    })
    if (nodePackage && !wantedNode()?.integrity) {
      say(`! package-lock.json has no hash of ${nodePackage}: the registry's own was checked.`)
    }
  }
  const name = path.basename(nodeBinary)
  const verified = nodePackage && inRoot('node_modules', nodePackage, 'bin', name)
  // The scripts of package.json and bin/scrapdeck use Node in `.bin`.
  for (const place of [nodeBinary, inRoot('node_modules', '.bin', name)]) linkNode(verified, place)
}

/**
 * Copies the Node whose hash npm compared with the lock. An existing file there is unverified.
 * @param {string | undefined} verified
 * @param {string} place
 */
export function linkNode(verified, place) {
  if (!verified || !fs.existsSync(verified)) {
    throw new StepFailed(
      'Node 24',
      `npm brought no Node for ${process.platform} ${process.arch}.\n` +
        '  What to do: install Node 24 from nodejs.org and run `node src/cli/bin.ts serve`.'
    )
  }
  const now = fs.statSync(place, { throwIfNoEntry: false })
  if (now && now.ino === fs.statSync(verified).ino) return
  fs.rmSync(place, { force: true })
  fs.mkdirSync(path.dirname(place), { recursive: true })
  fs.linkSync(verified, place)
}

/**
 * Comparing what npm recorded with the lock also detects an interrupted or manual installation. A stamp would not.
 */
function matchesLock() {
  const installed = readPackages(inRoot('node_modules', '.package-lock.json'))
  const node = wantedNode()
  if (node && installed[`node_modules/${nodePackage}`]?.integrity !== node.integrity) return false
  return Object.entries(readPackages(inRoot('package-lock.json'))).every(
    ([place, wanted]) => place === '' || wanted.optional || installed[place]?.version === wanted.version
  )
}

const wantedNode = () => readPackages(inRoot('package-lock.json'))[`node_modules/${nodePackage}`]

/** @param {string} file @returns {Record<string, { version: string, integrity?: string, optional?: boolean }>} */
function readPackages(file) {
  if (!fs.existsSync(file)) return {}
  return JSON.parse(fs.readFileSync(file, 'utf8')).packages
}
