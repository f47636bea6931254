/**
 * `npm run claims` tests what this product promises about a shared queue, with two engines on one PostgreSQL: many
 * Scrapyds that pull run each job exactly once, despite faults of the leader; identical crawl orders become one
 * job; schedules fire once. Counts what ran from what the runs themselves wrote. Exits with 1 on any complaint. The
 * last line is the result as JSON.
 *
 *   npm run claims                                  50 Scrapyds, 10,000 jobs, 1,000 orders, a minute of schedules
 *   npm run claims -- --nodes 5 --jobs 200
 *   npm run claims -- --short                       what the integration tests run
 *   npm run claims -- --strikes kill,stall          what happens to the leader while the jobs run
 *   npm run claims -- --keep DIRECTORY              keeps the data, the engines' logs and what ran there
 */
import { mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { whyNoPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { runAsCommand } from '../support/long-run.ts'
import { type ClaimsOptions, SHORT, type Strike, WHOLE } from './plan.ts'
import { describeClaims } from './report.ts'
import { runClaims } from './run.ts'

const NUMBERS = ['nodes', 'jobs', 'slots', 'orders', 'schedules', 'seconds'] as const
const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    nodes: text,
    jobs: text,
    slots: text,
    orders: text,
    schedules: text,
    seconds: text,
    strikes: text,
    keep: text,
    short: { type: 'boolean', default: false }
  }
})
for (const name of NUMBERS) {
  const value = values[name]
  if (value !== undefined && !/^[1-9]\d*$/.test(value)) throw new Error(`--${name} must be a positive whole number`)
}
const base = values.short ? SHORT : WHOLE
const strikes = values.strikes === undefined ? base.strikes : values.strikes.split(',').filter(Boolean).map(strikeOf)
const options: ClaimsOptions = {
  ...base,
  nodes: Number(values.nodes ?? base.nodes),
  jobs: Number(values.jobs ?? base.jobs),
  slotsPerNode: Number(values.slots ?? base.slotsPerNode),
  orders: Number(values.orders ?? base.orders),
  schedules: Number(values.schedules ?? base.schedules),
  firingSeconds: Number(values.seconds ?? base.firingSeconds),
  strikes
}
if (values.keep !== undefined) mkdirSync(values.keep, { recursive: true })
const problem = whyNoPostgres()
if (problem !== null) throw new Error(problem)
await ensureServiceBuilt()

// Each Scrapyd adds an exit listener, which ends the Scrapyd with this process.
process.setMaxListeners(0)
await runAsCommand(async (signal) => {
  const result = await runClaims({
    ...options,
    entry: 'out/service/scrapdeck.js',
    directory: values.keep,
    signal,
    onProgress: (progress) => console.log(progress)
  })
  return { report: describeClaims(result, options), result: { ...result, options } }
})

function strikeOf(name: string): Strike {
  if (name === 'handover' || name === 'kill' || name === 'stall') return name
  throw new Error(`--strikes takes handover, kill and stall, not ${name}`)
}
