import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../e2e/support/scrapyd-fleet.ts'
import { readTestEnvironment } from '../scripts/setup/test-environment.mjs'
import { ensureServiceBuilt } from '../scripts/setup/build.mjs'
import { compare, type Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { median, progress } from './support/sides.ts'

export const needsSetup = true
export const about = 'the headless service: from the start of its process to the first answered request'

const root = resolve(import.meta.dirname, '..')
const LIMIT_MS = 20_000

/**
 * Starts the built service as `npm run serve` does, on an existing data directory, with the local node enabled.
 * Measures from spawn until /health responds, polled every millisecond.
 */
export const run = () => measure({ rounds: 9 })

export async function measure({ rounds }: { rounds: number }): Promise<Figure[]> {
  await ensureServiceBuilt()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-cold-'))
  const { python } = readTestEnvironment()
  const ours = { PATH: process.env['PATH'], HOME: directory, SCRAPDECK_PYTHON: python }
  const startOurs = (port: number) =>
    spawn(
      process.execPath,
      ['out/service/scrapdeck.js', 'serve', '--port', String(port), '--data', join(directory, 'data')],
      { cwd: root, env: ours, stdio: 'ignore' }
    )
  const startTheirs = (port: number) =>
    spawn(python, ['-m', 'scrapyd', '--pidfile='], {
      cwd: directory,
      env: { ...process.env, SCRAPYD_HTTP_PORT: String(port) },
      stdio: 'ignore'
    })
  try {
    // Creates the data directory. This start is not counted, because all later starts use an existing directory.
    await firstAnswerMs(startOurs, '/health')
    const tookMs = { ours: [] as number[], theirs: [] as number[] }
    for (let round = 1; round <= rounds; round += 1) {
      tookMs.ours.push(await firstAnswerMs(startOurs, '/health'))
      tookMs.theirs.push(await firstAnswerMs(startTheirs, '/daemonstatus.json'))
      progress(
        `cold ${round}/${rounds}: ${Math.round(tookMs.ours.at(-1)!)} ms, Scrapyd ${Math.round(tookMs.theirs.at(-1)!)} ms`
      )
    }
    const conditions = { starts: rounds, data: 'existing', scrapyd: '1.6.0', ...machine() }
    const values = { ours: median(tookMs.ours), bound: median(tookMs.theirs), unit: 'ms' }
    return [
      ...compare('', { ...values, boundIs: "Scrapyd's own start", wanted: { atMost: 0.6 } }, conditions),
      { figure: 'first_answer_max_ms', value: Math.round(Math.max(...tookMs.ours)), unit: 'ms', conditions }
    ]
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function firstAnswerMs(start: (port: number) => ChildProcess, path: string): Promise<number> {
  const port = await freePort()
  const startedMs = performance.now()
  const child = start(port)
  const ended = once(child, 'exit')
  try {
    while (!(await isAnswered(port, path))) {
      if (child.exitCode !== null || performance.now() - startedMs > LIMIT_MS) throw new Error('It did not start.')
      await new Promise((wake) => setTimeout(wake, 1))
    }
    return performance.now() - startedMs
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

function isAnswered(port: number, path: string): Promise<boolean> {
  return new Promise((answer) => {
    http
      .get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
        response.resume()
        answer(true)
      })
      .on('error', () => answer(false))
  })
}
