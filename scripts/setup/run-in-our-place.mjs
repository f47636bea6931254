import { spawn } from 'node:child_process'
import { childEnvironment, rootDirectory } from './platform.mjs'

/** @type {NodeJS.Signals[]} */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** A shell reports a program that a signal ended as 128 + its number. */
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }

const ORPHANED_CHECK_EVERY_MS = 250

/**
 * Runs a program in place of this one: same terminal, our signals, its exit code. Ctrl-C reaches it from the terminal
 * itself. npm puts a shell between itself and us, which dies of a signal and does not pass it on: when it is gone, the
 * program gets SIGTERM.
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<number>} its exit code
 */
export function runInOurPlace(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: rootDirectory, stdio: 'inherit', env: childEnvironment() })
    for (const signal of PASSED_ON) {
      process.on(signal, () => {
        if (!process.stdin.isTTY || signal !== 'SIGINT') child.kill(signal)
      })
    }
    const parent = process.ppid
    const watch = setInterval(() => {
      if (process.env.npm_lifecycle_event && process.ppid !== parent) child.kill('SIGTERM')
    }, ORPHANED_CHECK_EVERY_MS)
    watch.unref()
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? 128 + (SIGNAL_NUMBERS[signal ?? 'SIGTERM'] ?? 0)))
  })
}
