/** A step need not run again if the hash of its inputs is the same as after its last success. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { stampDirectory } from './platform.mjs'

/**
 * Hashes content instead of modification times, because git checkouts change times.
 * @param {string[]} pathsOfInputs files or folders
 * @param {string[]} [more] other things the result depends on
 */
export function hashOf(pathsOfInputs, more = []) {
  const hash = createHash('sha256')
  for (const text of more) hash.update(`${text}\0`)
  for (const input of pathsOfInputs) {
    for (const file of filesIn(input)) {
      hash.update(`${path.relative(input, file)}\0`)
      hash.update(fs.readFileSync(file))
    }
  }
  return hash.digest('hex')
}

/** @param {string} name @param {string} hash */
export function isStamped(name, hash) {
  const file = path.join(stampDirectory, name)
  return fs.existsSync(file) && fs.readFileSync(file, 'utf8') === hash
}

/** @param {string} name @param {string} hash */
export function stamp(name, hash) {
  fs.mkdirSync(stampDirectory, { recursive: true })
  fs.writeFileSync(path.join(stampDirectory, name), hash)
}

/** @param {string} name */
export function removeStamp(name) {
  fs.rmSync(path.join(stampDirectory, name), { force: true })
}

/** @param {string} input @returns {string[]} */
function filesIn(input) {
  const entry = fs.statSync(input, { throwIfNoEntry: false })
  if (!entry) return []
  if (entry.isFile()) return [input]
  return fs
    .readdirSync(input, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(input, name))
    .filter((file) => fs.statSync(file).isFile())
    .sort()
}
