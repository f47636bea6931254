import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findTestPython } from '../../../../testing/test-python.ts'

/**
 * A Python with Scrapy that every user of the machine can run: the tests' Python or, if that is in a home
 * directory, the system's Python with the same packages in a new environment in `directory`.
 */
export function findReachablePython(directory: string): string {
  const python = findTestPython()
  if (isReachable(realpathSync(python)) && isReachable(dirname(dirname(python)))) return python
  const version = minorOf(python)
  const system = ['/usr/bin/python3', `/usr/bin/python${version}`].find((one) => {
    try {
      return minorOf(one) === version
    } catch {
      return false
    }
  })
  if (system === undefined) throw new Error(`${python} is not for all users, and /usr/bin has no Python ${version}.`)
  mkdirSync(join(directory, 'bin'), { recursive: true, mode: 0o755 })
  symlinkSync(system, join(directory, 'bin', 'python'))
  writeFileSync(join(directory, 'pyvenv.cfg'), `home = /usr/bin\ninclude-system-site-packages = false\n`)
  const packages = join('lib', `python${version}`, 'site-packages')
  mkdirSync(dirname(join(directory, packages)), { recursive: true, mode: 0o755 })
  execFileSync('cp', ['-a', join(dirname(dirname(python)), packages), join(directory, packages)])
  return join(directory, 'bin', 'python')
}

function minorOf(python: string): string {
  const code = 'import sys; print("%d.%d" % sys.version_info[:2])'
  return execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim()
}

function isReachable(path: string): boolean {
  for (let place = path; ; place = dirname(place)) {
    if ((statSync(place).mode & 0o001) === 0) return false
    if (place === dirname(place)) return true
  }
}
