import { spawn } from 'node:child_process'
import os from 'node:os'
import { childEnvironment, rootDirectory } from './platform.mjs'

/** @type {NodeJS.Signals[]} */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP']
const ORPHANED_CHECK_EVERY_MS = 250

/**
 * Runs a program in place of this one: same terminal, our signals, its exit code. npm puts a shell between itself
 * and us. A signal kills that shell, which does not forward it. When the shell is gone, the program gets SIGTERM.
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} env variables in addition to ours
 * @returns {Promise<number>} its exit code
 */
export function runInOurPlace(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    // Listens before starting, because a signal in between would end this process and leave the program behind.
    for (const signal of PASSED_ON) {
      process.on(signal, () => {
        if (!process.stdin.isTTY || signal !== 'SIGINT') child.kill(signal)
      })
    }
    const child = spawn(command, args, { cwd: rootDirectory, stdio: 'inherit', env: { ...childEnvironment(), ...env } })
    const parent = process.ppid
    const watch = setInterval(() => {
      if (process.env.npm_lifecycle_event && process.ppid !== parent) child.kill('SIGTERM')
    }, ORPHANED_CHECK_EVERY_MS)
    watch.unref()
    child.on('error', reject)
    // A program killed by a signal gets the exit code 128 plus the signal's number, as in a shell.
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : os.constants.signals[signal])))
  })
}
