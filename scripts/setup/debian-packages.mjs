/** Unpacks Debian's packages into a directory without root, for a program that is not installed. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

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
