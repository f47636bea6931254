import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 ** 31

/**
 * For Vitest: puts a run's temporary files into new directories, and fails a run whose tests leave files behind.
 * The directories are in memory if there is room: a new database commits a dozen times before its test starts.
 */
export default function watchLeftovers() {
  const before = { ...process.env }
  const places = {
    TMPDIR: makePlace(isRoomy(MEMORY) ? MEMORY : os.tmpdir()),
    ...(fs.existsSync(MEMORY) && { TEST_MEMORY: makePlace(MEMORY) })
  }
  Object.assign(process.env, places)
  return () => {
    const left = Object.values(places).flatMap((place) =>
      fs
        .readdirSync(place)
        .filter((name) => name.startsWith('scrapdeck-'))
        .map((name) => `${name} (${fs.readdirSync(path.join(place, name)).slice(0, 5).join(', ')})`)
    )
    for (const [name, place] of Object.entries(places)) {
      fs.rmSync(place, { recursive: true, force: true })
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
    if (left.length > 0) {
      throw new Error(
        `Temporary directories were left by tests: ${left.join('; ')}. Use \`await using\`, or remove() them in afterEach`
      )
    }
  }
}

/** @param {string} place */
function isRoomy(place) {
  if (!fs.existsSync(place)) return false
  const { bavail, bsize } = fs.statfsSync(place)
  return bavail * bsize >= ROOM_BYTES
}

/** @param {string} parent */
function makePlace(parent) {
  return fs.mkdtempSync(path.join(parent, 'scrapdeck-run-'))
}
