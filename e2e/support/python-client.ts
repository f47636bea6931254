import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, TEST_CREDENTIALS } from './service.ts'

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

const AUTHORIZATION = `Basic ${Buffer.from(`${TEST_CREDENTIALS.username}:${TEST_CREDENTIALS.password}`).toString('base64')}`

/** Waits on the service itself: a client asked again and again is a Python started again and again. */
export async function untilJobIs(state: 'running' | 'finished', jobid: string, service: Service): Promise<void> {
  const ask = async () => {
    const url = `${service.address}/status.json?job=${jobid}`
    const response = await fetch(url, { headers: { authorization: AUTHORIZATION } })
    return ((await response.json()) as { currstate: string }).currstate
  }
  await until(`${jobid} to be ${state}`, ask, (seen) => seen === state)
}
