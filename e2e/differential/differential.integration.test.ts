import { expect, it } from 'vitest'
import { describeFinding, reportOf } from './report.ts'
import { runScenarios, wholeRun } from './run.ts'

const SEED = 20_250_906

it('answers and runs jobs as a real Scrapyd 1.6 does, but for what is allowed (the short form of `npm run differential`)', async () => {
  const beganAt = performance.now()
  const tally = await runScenarios({ scenarios: wholeRun(SEED).filter(({ isShort }) => isShort) })
  const { text } = reportOf(tally, { seed: SEED, isWhole: false, elapsedMs: performance.now() - beganAt })
  console.log(text)
  expect([...tally.brokenOff, ...tally.findings.map(describeFinding)]).toEqual([])
  const requests = [...tally.requests.values()].reduce((sum, count) => sum + count, 0)
  expect(requests).toBeGreaterThan(200)
}, 300_000)
