import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'

const LIMIT_MS = 60_000

/** A command of the test environment (scrapyd-deploy, python…) as a person runs it in `cwd`. */
export function runClient(
  cwd: string,
  command: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = join(dirname(readTestEnvironment().python), command)
  return new Promise((resolve) => {
    execFile(file, args, { cwd, timeout: LIMIT_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}
