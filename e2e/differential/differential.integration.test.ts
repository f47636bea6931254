import { expect, it } from 'vitest'
import { isLong, pickLength } from '../../scripts/test-length.mjs'
import { describeFinding, reportOf } from './report.ts'
import { runScenarios, wholeRun } from './run.ts'

const SEED = 20_250_906
const SEQUENCES = pickLength(0, 3)

it(
  'responds and runs jobs as a real Scrapyd 1.6 does, except for allowed differences (the short form of `npm run differential`)',
  async () => {
    const beganAt = performance.now()
    const tally = await runScenarios({
      scenarios: wholeRun(SEED, SEQUENCES).filter(({ isShort }) => isLong || isShort)
    })
    const { text } = reportOf(tally, { seed: SEED, isWhole: false, elapsedMs: performance.now() - beganAt })
    console.log(text)
    expect([...tally.brokenOff, ...tally.findings.map(describeFinding)]).toEqual([])
    const requests = [...tally.requests.values()].reduce((sum, count) => sum + count, 0)
    expect(requests).toBeGreaterThan(200)
  },
  pickLength(300_000, 3_600_000)
)
