/**
 * `npm run attack`: plays known and generated attacks against every door of the built service, and watches its event
 * loop, memory and descriptors from inside. Exits with 1 if anything broke. Linux only (/proc).
 *
 *   npm run attack                          every known attack, and 500 generated requests
 *   npm run attack -- --variants 5000 --seed 7
 *   npm run attack -- --only "fleet file"   attacks whose name contains this
 *   npm run attack -- --short               what `npm test` plays
 */
import { parseArgs } from 'node:util'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
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
await ensureServiceBuilt()
const result = await runAttacks({
  ...base,
  seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
  variants: Number(values.variants ?? base.variants),
  only: values.only,
  entry: 'out/service/scrapdeck.js',
  onProgress: (text) => console.log(text)
})
console.log(`\n${describeResult(result)}`)
process.exit(
  result.complaints.length === 0 && result.outcomes.every(({ complaints }) => complaints.length === 0) ? 0 : 1
)
