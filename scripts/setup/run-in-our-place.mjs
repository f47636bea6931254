import { spawn } from 'node:child_process'
import { childEnvironment, rootDirectory } from './platform.mjs'

/**
 * Runs a program in place of this one: same terminal, our signals. Ctrl-C reaches it from the terminal itself.
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<number>} its exit code
 */
export function runInOurPlace(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: rootDirectory, stdio: 'inherit', env: childEnvironment() })
    for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
      process.on(signal, () => {
        if (!process.stdin.isTTY || signal !== 'SIGINT') child.kill(signal)
      })
    }
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)))
  })
}
