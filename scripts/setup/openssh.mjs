/**
 * Tests use an installed OpenSSH or Debian's packages, unpacked under .cache without root. Without either, the
 * tests of nodes over SSH are skipped.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { unpackDebianPackages } from './debian-packages.mjs'
import { cacheDirectory } from './platform.mjs'
import { step } from './steps.mjs'

/** The packages to unpack, including libraries that a small image lacks. */
const SERVER_PACKAGES = ['openssh-server', 'libwrap0']
const CLIENT_PACKAGES = ['openssh-client', 'libedit2', 'libfido2-1', 'libcbor0.8', 'libbsd0']
const CLIENT_PROGRAMS = ['ssh', 'ssh-add', 'ssh-agent', 'ssh-keygen']

/**
 * @typedef {object} OpenSshInstallation
 * @property {string | null} server the full path of sshd, without which it does not start; null: there is none
 * @property {string} client the folder of ssh, ssh-keygen and the like
 * @property {string | null} libraries the folder with their libraries; null: the system has them
 * @property {string | null} problem why there is none
 */

/** @returns {Promise<OpenSshInstallation>} */
export async function ensureOpenSsh() {
  const here = { server: find(['sshd']), client: find(CLIENT_PROGRAMS) }
  if (here.server !== null && here.client !== null) {
    return { server: path.join(here.server, 'sshd'), client: here.client, libraries: null, problem: null }
  }
  const directory = path.join(cacheDirectory, 'openssh')
  try {
    const unpacked = locate(directory, here.client) ?? (await unpack(directory, here.client))
    if (unpacked === null) throw new Error('the OpenSSH of Debian does not run here')
    return { ...unpacked, problem: null }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { server: null, client: '', libraries: null, problem }
  }
}

/** @param {string} directory @param {string | null} client */
const unpack = (directory, client) =>
  step('OpenSSH for tests', async () => {
    unpackDebianPackages([...SERVER_PACKAGES, ...(client === null ? CLIENT_PACKAGES : [])], directory)
    return locate(directory, client)
  })

/** @param {string} directory @param {string | null} client */
function locate(directory, client) {
  const above = path.join(directory, 'usr', 'lib')
  const folder = fs.existsSync(above) ? fs.readdirSync(above).find((name) => name.endsWith('-linux-gnu')) : undefined
  if (folder === undefined) return null
  const libraries = path.join(above, folder)
  const server = path.join(directory, 'usr', 'sbin', 'sshd')
  const programs = client ?? path.join(directory, 'usr', 'bin')
  const isWhole = [server, ...CLIENT_PROGRAMS.map((name) => path.join(programs, name))].every((program) =>
    runs(program, libraries)
  )
  return isWhole ? { server, client: programs, libraries } : null
}

/** The folder that has all of these programs, if they run there. @param {string[]} programs */
function find(programs) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin'].filter(path.isAbsolute)
  return folders.find((folder) => programs.every((program) => runs(path.join(folder, program), null))) ?? null
}

/**
 * Checks that sshd finds its libraries. Given an unknown option, it prints the options that it knows.
 * @param {string} program @param {string | null} libraries
 */
function runs(program, libraries) {
  if (!fs.existsSync(program)) return false
  const env = libraries === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries }
  const { status, error } = spawnSync(program, ['-?'], { env, input: '' })
  return error === undefined && status !== 127
}
