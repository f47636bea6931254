/**
 * Tests use an installed `redis-server` or `valkey-server`, or Debian's packages, unpacked under .cache without
 * root. Without either, the tests of the shared cache are skipped.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { unpackDebianPackages } from './debian-packages.mjs'
import { cacheDirectory } from './platform.mjs'
import { step } from './steps.mjs'

/**
 * The packages to unpack. redis-server is a link into redis-tools. The others are libraries that a small image lacks.
 */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1']

/**
 * @typedef {object} RedisInstallation
 * @property {string | null} program null: there is none
 * @property {string | null} libraries the folder with its libraries; null: the system has them
 * @property {string | null} problem why there is none
 */

/** @returns {Promise<RedisInstallation>} */
export async function ensureRedis() {
  for (const program of ['redis-server', 'valkey-server']) {
    if (runs(program, null)) return { program, libraries: null, problem: null }
  }
  try {
    return { ...(await unpackFromDebian()), problem: null }
  } catch (error) {
    return { program: null, libraries: null, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** @param {string} program @param {string | null} libraries */
function runs(program, libraries) {
  const env = libraries === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries }
  return spawnSync(program, ['--version'], { env }).status === 0
}

async function unpackFromDebian() {
  const directory = path.join(cacheDirectory, 'redis')
  const found = () => {
    const program = path.join(directory, 'usr', 'bin', 'redis-server')
    const above = path.join(directory, 'usr', 'lib')
    const folder = fs.existsSync(above) ? fs.readdirSync(above).find((name) => name.endsWith('-linux-gnu')) : undefined
    return folder === undefined ? null : { program, libraries: path.join(above, folder) }
  }
  const before = found()
  if (before !== null && runs(before.program, before.libraries)) return before
  return step('Redis for tests', async () => {
    unpackDebianPackages(PACKAGES, directory)
    const unpacked = found()
    if (unpacked === null || !runs(unpacked.program, unpacked.libraries)) {
      throw new Error('the redis-server of Debian does not run here')
    }
    return unpacked
  })
}
