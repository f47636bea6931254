import { describeEnd } from '../support/long-run.ts'
import type { ClaimsOptions } from './plan.ts'
import type { ClaimsResult } from './run.ts'

export function describeClaims(result: ClaimsResult, options: ClaimsOptions): string {
  const { jobs, strikes, orders, firings, memory, complaints, requestsPerEngine } = result
  return [
    '',
    `Claims, over two engines on one PostgreSQL behind a round robin, with ${options.nodes} stock Scrapyds that pull (${options.slotsPerNode} slots each), in ${result.seconds} s`,
    '',
    `  jobs          ${jobs.asked} asked for, ${jobs.runs} runs on ${jobs.nodesUsed} nodes in ${jobs.seconds} s; at most ${jobs.mostAtOnce} at once on a node; ${jobs.askedAgain} requests repeated`,
    ...strikes.map(
      ({ strike, heldClaims, nextLeaderMs }) =>
        `  ${strike.padEnd(12)}  of the leader while nodes ran ${heldClaims} spiders; the other engine led after ${nextLeaderMs} ms`
    ),
    ...orders.map(
      ({ sent, during, jobs: made, seconds, sentAgain }) =>
        `  crawl orders  ${sent} identical ones at once (${during}): ${made} job, in ${seconds} s; ${sentAgain} requests repeated`
    ),
    `  firings       ${firings.firings} of ${firings.schedules} schedules in ${options.firingSeconds} s, with a handover: ${firings.runs} runs`,
    `  requests      ${requestsPerEngine.join(' and ')} by the engine that they were sent to`,
    `  memory        ${memory.scrapyds} MB of all Scrapyds, ${memory.engines.join(' and ')} MB of the engines`,
    ...describeEnd(
      complaints,
      'Each job ran exactly once, identical orders are one job, each schedule fired once for each time.'
    )
  ].join('\n')
}
