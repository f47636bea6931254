/**
 * Tests isolate spiders with an installed bubblewrap or Debian's package, unpacked under .cache without root. If it
 * cannot create a sandbox, its tests are skipped.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { unpackDebianPackages } from './debian-packages.mjs'
import { cacheDirectory } from './platform.mjs'
import { step } from './steps.mjs'

/**
 * Options to try a sandbox like that of a spider. It needs its own namespaces, which some systems and containers
 * forbid.
 */
const SANDBOX = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-ipc',
  '--ro-bind',
  '/',
  '/',
  '--',
  '/bin/sh',
  '-c',
  'exit 0'
]

/**
 * @typedef {object} BubblewrapInstallation
 * @property {string | null} program null: there is none that works here
 * @property {string | null} problem why
 */

/** @returns {Promise<BubblewrapInstallation>} */
export async function ensureBubblewrap() {
  if (process.platform !== 'linux') return { program: null, problem: 'it is for Linux' }
  try {
    const program = runs('bwrap', ['--version']) === null ? 'bwrap' : await unpackFromDebian()
    const problem = runs(program, SANDBOX)
    return problem === null ? { program, problem } : { program: null, problem }
  } catch (error) {
    return { program: null, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** @param {string} program @param {string[]} args @returns why it failed; null: it did not */
function runs(program, args) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 10_000 })
  return status === 0 ? null : (error?.message ?? (stderr.trim() || `it ended with ${status}`))
}

async function unpackFromDebian() {
  const directory = path.join(cacheDirectory, 'bubblewrap')
  const program = path.join(directory, 'usr', 'bin', 'bwrap')
  if (runs(program, ['--version']) === null) return program
  return step('bubblewrap for tests', async () => {
    unpackDebianPackages(['bubblewrap'], directory)
    const problem = runs(program, ['--version'])
    if (problem !== null) throw new Error(`the bubblewrap of Debian does not run here: ${problem}`)
    return program
  })
}
