/**
 * `npm run differential` runs every scenario and the generated sequences on a real Scrapyd 1.6 and on our service.
 *
 *   npm run differential                      everything
 *   npm run differential -- --seed 7          the generated sequences of another seed
 *   npm run differential -- --only WORDS      only scenarios whose name contains WORDS
 */
import { parseArgs } from 'node:util'
import { describeFinding, reportOf } from './report.ts'
import { runScenarios, wholeRun } from './run.ts'

const { values } = parseArgs({ options: { seed: { type: 'string' }, only: { type: 'string' } } })
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const all = wholeRun(seed)
const isNamed = all.some(({ name }) => name === values.only)
const scenarios = all.filter(({ name }) => (isNamed ? name === values.only : name.includes(values.only ?? '')))
const beganAt = performance.now()
// Shuts down in an orderly way on a signal, because killed servers would leave their spiders behind.
const interruption = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort())
const tally = await runScenarios({
  signal: interruption.signal,
  scenarios,
  onScenario: ({ name }) => console.log(`${((performance.now() - beganAt) / 1000).toFixed(0).padStart(4)} s  ${name}`),
  onFinding: (finding) => console.log(describeFinding(finding))
})
const isWhole = values.only === undefined && !interruption.signal.aborted
const { text, isGood } = reportOf(tally, { seed, isWhole, elapsedMs: performance.now() - beganAt })
console.log(text)
process.exitCode = isGood && !interruption.signal.aborted ? 0 : 1
