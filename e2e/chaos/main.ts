/**
 * `npm run chaos` repeatedly kills the service and its real Scrapyds, connected through proxies that damage the
 * traffic, then compares what really ran with what the service reports. Exits with 1 on any complaint, such as an
 * acknowledged job that was lost, or a job that ran twice without a flag. The last line is the result as JSON.
 *
 *   npm run chaos                                        2,000 jobs, 30 kills of the engine, 6 of nodes
 *   npm run chaos -- --jobs 300 --kills 5 --node-kills 2 --seed 7
 *   npm run chaos -- --short                             as in `npm run test:full`: 60 jobs, 3 kills, 1 of a node
 *   npm run chaos -- --versions 1.6.0,1.3.0,1.2.1        other Scrapyds
 *   npm run chaos -- --engines 3                         three engines on one PostgreSQL, killed, stopped, restarted
 *   npm run chaos -- --engines 3 --stalls 2 --restarts 1 --kills 4 --jobs 300
 *   npm run chaos -- --keep DIRECTORY                    keeps the data and the service's log there
 */
import { mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { runAsCommand } from '../support/long-run.ts'
import { type ScrapydVersion, scrapydProblem } from '../support/scrapyd-fleet.ts'
import {
  type ChaosOptions,
  SHORT_RUN,
  SHORT_TOGETHER,
  type TogetherOptions,
  WHOLE_RUN,
  WHOLE_TOGETHER
} from './plan.ts'
import { describe, describeTogether } from './report.ts'
import { runChaos } from './run.ts'
import { runTogether } from './together.ts'

const { values } = parseArgs({
  options: {
    jobs: { type: 'string' },
    kills: { type: 'string' },
    'node-kills': { type: 'string' },
    nodes: { type: 'string' },
    versions: { type: 'string' },
    seed: { type: 'string' },
    engines: { type: 'string' },
    stalls: { type: 'string' },
    restarts: { type: 'string' },
    short: { type: 'boolean', default: false },
    sources: { type: 'boolean', default: false },
    keep: { type: 'string' }
  }
})

const several = values.engines === undefined ? null : values.short ? SHORT_TOGETHER : WHOLE_TOGETHER
const base = several ?? (values.short ? SHORT_RUN : WHOLE_RUN)
const given = (values.versions?.split(',') ?? base.versions) as ScrapydVersion[]
const nodes = Number(values.nodes ?? given.length)
const options: ChaosOptions = {
  ...base,
  seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
  jobs: Number(values.jobs ?? base.jobs),
  engineKills: Number(values.kills ?? base.engineKills),
  nodeKills: Number(values['node-kills'] ?? base.nodeKills),
  versions: Array.from({ length: nodes }, (_, index) => runnable(given[index % given.length]!))
}
const together: TogetherOptions | null = several === null ? null : { ...several, ...options, ...togetherOf(several) }
const { seed, jobs, engineKills, nodeKills } = options
const { stalls = 0, databaseRestarts = 0, engines = 1 } = together ?? {}
for (const [name, count] of Object.entries({ seed, jobs, engineKills, nodeKills, stalls, databaseRestarts, engines })) {
  if (!Number.isInteger(count) || count < 0) throw new Error(`${name} must be a whole number`)
}
if (values.keep !== undefined) mkdirSync(values.keep, { recursive: true })
// The sources start more slowly than the bundle, but need no build.
if (!values.sources) await ensureServiceBuilt()

await runAsCommand(async (signal) => {
  const how = {
    entry: values.sources ? undefined : 'out/service/scrapdeck.js',
    directory: values.keep,
    signal,
    onProgress: (text: string) => console.log(text)
  }
  if (together !== null) {
    const result = await runTogether({ ...together, ...how })
    return { report: describeTogether(result, together), result: { ...result, options: together } }
  }
  const result = await runChaos({ ...options, ...how })
  return { report: describe(result, options), result: { ...result, options } }
})

function togetherOf(
  from: Omit<TogetherOptions, 'seed'>
): Pick<TogetherOptions, 'engines' | 'stalls' | 'databaseRestarts'> {
  return {
    engines: Number(values.engines),
    stalls: Number(values.stalls ?? from.stalls),
    databaseRestarts: Number(values.restarts ?? from.databaseRestarts)
  }
}

function runnable(version: ScrapydVersion): ScrapydVersion {
  const problem = scrapydProblem(version)
  if (problem === null) return version
  console.log(`Scrapyd ${version} cannot run here (${problem}): 1.6.0 instead`)
  return '1.6.0'
}
