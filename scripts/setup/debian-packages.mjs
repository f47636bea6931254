/** Debian's packages: unpacked into a directory without root, or installed. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { isWindows } from './platform.mjs'
import { StepFailed, runCommand, say, step } from './steps.mjs'

const DOWNLOAD_LIMIT_MS = 180_000

/** Throws if there is no apt, or no such package. @param {string[]} packages @param {string} directory is emptied */
export function unpackDebianPackages(packages, directory) {
  fs.rmSync(directory, { recursive: true, force: true })
  fs.mkdirSync(directory, { recursive: true })
  try {
    run('apt-get', ['download', '-q', ...packages], directory)
  } catch {
    // A fresh machine has no package lists, or outdated ones.
    run('apt-get', ['update', '-q'], directory)
    run('apt-get', ['download', '-q', ...packages], directory)
  }
  for (const file of fs.readdirSync(directory).filter((name) => name.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', file, '.'], directory)
    fs.rmSync(path.join(directory, file))
  }
}

/** @param {string} command @param {string[]} args @param {string} cwd */
function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.trim().split('\n').at(-1) ?? status}`)
}

/**
 * Installs packages as root or with sudo, unless `isThere`. Throws StepFailed.
 * @param {string} title @param {string[]} packages @param {() => boolean} isThere
 */
export async function installDebianPackages(title, packages, isThere) {
  if (isThere()) return
  await step(title, async () => {
    if ((await runApt('update')) && (await runApt('install', ...WITHOUT_MORE, ...packages)) && isThere()) return
    throw new StepFailed(
      title,
      `${title}: apt-get could not install ${packages.join(', ')}. Install them, then try again.`
    )
  })
}

export const WITHOUT_MORE = ['--yes', '--no-install-recommends']

export const hasApt = () => !isWindows && spawnSync('apt-get', ['--version']).status === 0

/** @param {string[]} args @returns {Promise<boolean>} whether it succeeded; on failure its output is shown */
export async function runApt(...args) {
  const [command = 'apt-get', ...rest] = [...(process.getuid?.() === 0 ? [] : ['sudo', '-n']), 'apt-get', ...args]
  try {
    await runCommand({ title: `Debian ${args[0]}`, command, args: rest, timeLimitMs: DOWNLOAD_LIMIT_MS })
    return true
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    say(`  ${error.message}`)
    return false
  }
}
