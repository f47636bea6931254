/**
 * Tests use versitygw: an installed one, or one built from its Go module with an installed Go or one from PyPI. If
 * that fails, tests of blobs on S3 are skipped.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { findGo } from './go.mjs'
import { cacheDirectory, isWindows } from './platform.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { commandStep } from './steps.mjs'

const VERSION = 'v1.8.0'
const MODULE = 'github.com/versity/versitygw/cmd/versitygw'
/** The time limit of the build, which takes a minute or two. Without a network, it must not hang. */
const LIMIT_MS = 900_000

const directory = path.join(cacheDirectory, 's3-server')
const binary = path.join(directory, isWindows ? 'versitygw.exe' : 'versitygw')

/**
 * @typedef {object} S3Installation
 * @property {string | null} program null: there is none
 * @property {string | null} problem why not
 */

/** @param {string} python @returns {Promise<S3Installation>} */
export async function ensureS3Server(python) {
  if (answers('versitygw', ['--version'])) return { program: 'versitygw', problem: null }
  if (isStamped('s3-server', VERSION) && fs.existsSync(binary)) return { program: binary, problem: null }
  try {
    fs.mkdirSync(directory, { recursive: true })
    const go = await findGo(python)
    await commandStep({
      title: 'S3 server for tests',
      command: go,
      args: ['install', `${MODULE}@${VERSION}`],
      env: { GOBIN: directory, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
      timeLimitMs: LIMIT_MS
    })
    stamp('s3-server', VERSION)
    return { program: binary, problem: null }
  } catch (error) {
    return { program: null, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** @param {string} command @param {string[]} args */
const answers = (command, args) => spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0
