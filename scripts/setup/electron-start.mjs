/** What `npm start` must know before it starts Electron. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/**
 * Takes `--port N` or `--port=N` out of the arguments. Electron does not read it, so the app gets it in SCRAPDECK_PORT.
 * @param {string[]} args @returns {{ port: string | null, rest: string[] }}
 */
export function splitPort(args) {
  const at = args.findIndex((word) => word === '--port' || word.startsWith('--port='))
  if (at === -1) return { port: null, rest: args }
  const isSeparate = args[at] === '--port'
  const port = isSeparate ? (args[at + 1] ?? '') : args[at]?.slice('--port='.length) || ''
  return { port, rest: [...args.slice(0, at), ...args.slice(at + (isSeparate ? 2 : 1))] }
}

/**
 * @typedef {object} SandboxFacts
 * @property {boolean} isRoot
 * @property {boolean} hasSetuidSandbox Chromium's older sandbox is installed beside the program
 * @property {boolean} canUnshare this user can create user namespaces, which Chromium's sandbox needs
 * @property {boolean} isRestricted AppArmor restricts user namespaces, as on Ubuntu since 23.10
 */

/**
 * Why Chromium's sandbox cannot work here, and what to do; null: it can. Electron would end at once, and without its
 * sandbox, a page could do whatever this user can.
 * @param {SandboxFacts} facts @returns {string | null}
 */
export function problemOfSandbox({ isRoot, hasSetuidSandbox, canUnshare, isRestricted }) {
  if (isRoot) return 'its sandbox does not work for root. Start the app as an ordinary user'
  if (hasSetuidSandbox || canUnshare) return null
  if (isRestricted)
    return (
      'this system lets only listed programs create user namespaces, which its sandbox needs. Install the deb, which ' +
      'brings an AppArmor profile, or allow it for all programs: ' +
      'sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0'
    )
  return (
    'this user cannot create user namespaces, which its sandbox needs. Allow them: ' +
    'sudo sysctl user.max_user_namespaces=10000, and on Debian also kernel.unprivileged_userns_clone=1'
  )
}

/** @param {string} binary @returns {SandboxFacts} */
export function readSandboxFacts(binary) {
  const isLinux = process.platform === 'linux'
  const sandbox = fs.statSync(path.join(path.dirname(binary), 'chrome-sandbox'), { throwIfNoEntry: false })
  const tried = isLinux ? spawnSync('unshare', ['--user', 'true']) : null
  return {
    isRoot: isLinux && process.getuid?.() === 0,
    hasSetuidSandbox: sandbox !== undefined && sandbox.uid === 0 && (sandbox.mode & 0o4000) !== 0,
    // Without `unshare`, nothing is known, so Electron is started.
    canUnshare: tried === null || tried.error !== undefined || tried.status === 0,
    isRestricted: readFlag('/proc/sys/kernel/apparmor_restrict_unprivileged_userns')
  }
}

/** @param {string} file */
function readFlag(file) {
  try {
    return fs.readFileSync(file, 'utf8').trim() === '1'
  } catch {
    return false
  }
}
