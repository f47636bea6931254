/**
 * `npm run attack` plays known and generated attacks against every interface of the built service and watches its
 * event loop, memory and descriptors from inside. Exits with 1 if a check failed. Linux only (/proc).
 *
 *   npm run attack                          every known attack, 500 generated ones, the memory of large requests
 *   npm run attack -- --variants 5000 --seed 7
 *   npm run attack -- --only "fleet file"   attacks whose name contains this
 *   npm run attack -- --short               what `npm run test:full` plays
 */
import { parseArgs } from 'node:util'
import { ensureBuilt } from '../../scripts/setup/build.mjs'
import { judgeMemory, MEMORY_CASES, measureMemory, printFigures } from './memory.ts'
import { describeResult, runAttacks, SHORT_RUN, WHOLE_RUN } from './run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    variants: { type: 'string' },
    only: { type: 'string' },
    short: { type: 'boolean', default: false }
  }
})

const base = values.short ? SHORT_RUN : WHOLE_RUN
// Also builds the user interface, because attacks request it.
await ensureBuilt()
const result = await runAttacks({
  ...base,
  seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
  variants: Number(values.variants ?? base.variants),
  only: values.only,
  entry: 'out/service/scrapdeck.js',
  onProgress: (text) => console.log(text)
})
console.log(`\n${describeResult(result)}`)
const cases = MEMORY_CASES.filter(({ name }) => !values.short && name.includes(values.only ?? ''))
const figures = cases.length === 0 ? [] : await measureMemory(cases, { entry: 'out/service/scrapdeck.js' })
if (figures.length > 0) printFigures(figures)
const tooMuch = judgeMemory(figures)
for (const complaint of tooMuch) console.log(complaint)
const isClean = result.complaints.length === 0 && result.outcomes.every(({ complaints }) => complaints.length === 0)
process.exit(isClean && tooMuch.length === 0 ? 0 : 1)
