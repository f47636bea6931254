import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startService, TEST_CREDENTIALS } from '../e2e/support/service.ts'
import { ensureServiceBuilt } from '../scripts/setup/build.mjs'
import { compare, type Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { median, progress } from './support/sides.ts'

export const about = '`scrapdeck jobs` from its start to its end, beside Node that does nothing'

const PROGRAM = resolve(import.meta.dirname, '..', 'out', 'service', 'scrapdeck.js')
const HOOK = resolve(import.meta.dirname, 'support', 'report-cpu.cjs')

/**
 * Measures commands of bin/scrapdeck against a running service, alternating with `node -e 0`. Also measures CPU time
 * (user and system), which hardly depends on the load of the machine.
 */
export const run = () => measure({ rounds: 15 })

export async function measure({ rounds }: { rounds: number }): Promise<Figure[]> {
  await ensureServiceBuilt()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-cli-'))
  const service = await startService({ entry: 'out/service/scrapdeck.js', dataDirectory: directory, localSlots: 0 })
  const environment = {
    PATH: process.env['PATH'],
    HOME: directory,
    SCRAPDECK_URL: service.address,
    SCRAPDECK_USERNAME: TEST_CREDENTIALS.username,
    SCRAPDECK_PASSWORD: TEST_CREDENTIALS.password
  }
  try {
    runOnce([PROGRAM, 'jobs'], environment)
    const jobs: Took[] = []
    const node: Took[] = []
    for (let round = 1; round <= rounds; round += 1) {
      jobs.push(runOnce([PROGRAM, 'jobs'], environment))
      node.push(runOnce(['-e', '0'], environment))
      progress(`cli ${round}/${rounds}: ${Math.round(jobs.at(-1)!.ms)} ms, Node ${Math.round(node.at(-1)!.ms)} ms`)
    }
    const conditions = { runs: rounds, ...machine() }
    const of = (list: Took[], what: keyof Took) => median(list.map((took) => took[what]))
    const elapsed = { ours: of(jobs, 'ms'), bound: of(node, 'ms'), unit: 'ms' }
    const figure = (name: string, value: number, unit: string): Figure => ({ figure: name, value, unit, conditions })
    return [
      // The goal is 150 ms on a machine where Node itself starts in 40 ms.
      ...compare('', { ...elapsed, boundIs: 'node -e 0', wanted: { atMost: 3.75 } }, conditions),
      figure('cpu_ratio', Number((of(jobs, 'cpuMs') / of(node, 'cpuMs')).toFixed(2)), '×'),
      figure('jobs_cpu_ms', Math.round(of(jobs, 'cpuMs')), 'ms')
    ]
  } finally {
    await service.kill()
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

interface Took {
  ms: number
  cpuMs: number
}

function runOnce(words: string[], environment: NodeJS.ProcessEnv): Took {
  const beganAtMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ['--require', HOOK, ...words], {
    env: environment,
    encoding: 'utf8'
  })
  const ms = performance.now() - beganAtMs
  const cpu = /^cpu (\d+)$/m.exec(stderr)?.[1]
  if (status !== 0 || cpu === undefined) throw new Error(`It ended with ${status}: ${stderr}`)
  return { ms, cpuMs: Number(cpu) / 1000 }
}
