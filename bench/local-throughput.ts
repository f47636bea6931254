import { compare, type Figure } from './figure.ts'
import { startBareSpiders } from './support/bare-spiders.ts'
import { machine } from './support/bench-engine.ts'
import { median, progress, schedule, type Side, startOurs, startTheirs, untilQuiet } from './support/sides.ts'

export const needsSetup = true
export const about = 'many no-op jobs on the four slots of the local node, beside a real Scrapyd 1.6'

const SLOTS = 4
const ASKED_AT_ONCE = 8

/**
 * Measures the time from the first request until every job has ended. The Scrapyds get fewer jobs, because their rate
 * does not depend on the queue length and more would take many minutes. The bound is a bare Python that has loaded
 * Scrapy and forks four runs at a time.
 */
export const run = () => measure({ jobs: 200, fastPollJobs: 24, defaultJobs: 20, rounds: 3 })

export async function measure(options: {
  jobs: number
  fastPollJobs: number
  defaultJobs: number
  rounds: number
}): Promise<Figure[]> {
  const { jobs, fastPollJobs, defaultJobs, rounds } = options
  const sides: Side[] = []
  const bare = await startBareSpiders()
  const bareRates: number[] = []
  try {
    sides.push(await startOurs({ slots: SLOTS }))
    sides.push(await startTheirs('Scrapyd, poll_interval 0.1', { maxProc: SLOTS, pollIntervalSeconds: 0.1 }))
    sides.push(await startTheirs('Scrapyd', { maxProc: SLOTS }))
    const wanted = [jobs, fastPollJobs, defaultJobs]
    const rates: number[][] = [[], [], []]
    for (let round = 1; round <= rounds; round += 1) {
      for (const [index, side] of sides.entries()) {
        const rate = await jobsPerSecond(side, wanted[index]!)
        rates[index]!.push(rate)
        progress(`${side.name} ${round}/${rounds}: ${rate.toFixed(2)} jobs/s`)
        if (index === 0) bareRates.push(await bare.runsPerSecond(jobs, SLOTS))
      }
    }
    const [ours, fastPoll, byDefault] = rates as [number[], number[], number[]]
    const ratioTo = (others: number[]) => median(ours.map((rate, round) => rate / others[round]!))
    const decimals = (value: number) => Math.round(value * 100) / 100
    const conditions = {
      jobs,
      scrapyd_jobs: defaultJobs,
      scrapyd_fast_poll_jobs: fastPollJobs,
      slots: SLOTS,
      rounds,
      scrapyd: '1.6.0',
      scrapyd_jobs_per_s: decimals(median(byDefault)),
      scrapyd_fast_poll_jobs_per_s: decimals(median(fastPoll)),
      ...machine()
    }
    return [
      ...compare(
        '',
        {
          ours: median(ours),
          bound: median(bareRates),
          unit: 'jobs/s',
          boundIs: 'forks of a Python with Scrapy loaded',
          wanted: { atLeast: 0.7 }
        },
        conditions
      ),
      { figure: 'ratio_default', value: decimals(ratioTo(byDefault)), unit: 'times', conditions },
      { figure: 'ratio_fast_poll', value: decimals(ratioTo(fastPoll)), unit: 'times', conditions }
    ]
  } finally {
    await bare.stop()
    for (const side of sides) await side.stop()
  }
}

async function jobsPerSecond(side: Side, jobs: number): Promise<number> {
  const startedMs = performance.now()
  let asked = 0
  await Promise.all(
    Array.from({ length: ASKED_AT_ONCE }, async () => {
      while (asked < jobs) {
        asked += 1
        await schedule(side, 'noop')
      }
    })
  )
  await untilQuiet(side)
  return jobs / ((performance.now() - startedMs) / 1000)
}
