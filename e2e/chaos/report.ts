import { describeEnd } from '../support/long-run.ts'
import type { ChaosResult } from './run.ts'
import type { ChaosOptions, TogetherOptions } from './plan.ts'
import type { TogetherResult } from './together.ts'

export function describe(result: ChaosResult, options: ChaosOptions): string {
  const { verdict, faults, engineRecoveries, nodeRecoveries } = result
  const outcomes = Object.entries(verdict.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  const lines = [
    '',
    `Chaos, seed ${result.seed}: ${verdict.asked} jobs on ${result.versions.length} real Scrapyds (${result.versions.join(', ')}), the engine killed ${engineRecoveries.length} times, nodes ${nodeRecoveries.length} times, in ${result.seconds} s`,
    '',
    `  asked for            ${verdict.asked}, acknowledged ${verdict.acknowledged} (${result.askedAgain} requests were asked again)`,
    `  outcomes             ${outcomes.join(', ')}`,
    `  runs                 ${verdict.runs}`,
    `  lost                 ${verdict.lost.length + verdict.forgotten.length} (acknowledged, never ran, unexplained)`,
    `  never ran, explained ${verdict.neverRanButExplained.length} (their node died with them, and they are told as lost)`,
    `  duplicated           ${verdict.duplicated.length}, of these flagged ${verdict.duplicated.length - verdict.unflagged.length}, unflagged ${verdict.unflagged.length}; ${verdict.retriedAfterLoss.length} of them because a lost run was tried again`,
    `  flagged in vain      ${verdict.flaggedInVain.length} (may have run twice, and did not)`,
    `  false success        ${verdict.succeededWithoutRun.length}`,
    `  not believed         ${verdict.endedWellButNotBelieved.length} (ended well, told as lost or failed)`,
    `  wrongly "absent"     ${verdict.wronglyAbsent.length}`,
    `  most at once         ${Object.entries(verdict.mostAtOnce)
      .toSorted()
      .map(([node, most]) => `${node} ${most}`)
      .join(', ')} of ${options.slotsPerNode} slots`,
    `  engine back          ready ${spread(engineRecoveries.map(({ readyMs }) => readyMs))}, first job sent ${spread(engineRecoveries.map(({ firstSentMs }) => firstSentMs))}`,
    `  node back            first job sent there ${spread(nodeRecoveries.map(({ firstSentMs }) => firstSentMs))}`,
    `  faults               ${Object.entries(faults)
      .map(([kind, { periods, connections }]) => `${kind} ${periods} (${connections} connections)`)
      .join(', ')}`,
    '',
    '  Conditions: the Scrapyds are unmodified; their setting `runner` names e2e/chaos/chaos_runner.py, which plays the spider `quick`',
    `  without importing Scrapy and gives every ${options.realEvery}th job, a real Scrapy spider, to Scrapyd's own runner. poll_interval ${options.pollIntervalSeconds} s`,
    `  (default 5), jobs_to_keep 300 (default 5), ${options.slotsPerNode} slots each. Everything on this machine.`,
    ...describeEnd(result.complaints, 'Nothing lost, nothing run twice unflagged.')
  ]
  return lines.join('\n')
}

export function describeTogether(result: TogetherResult, options: TogetherOptions): string {
  const { verdict, firstSentMs, complaints } = result
  const { engines, engineKills, stalls, databaseRestarts, versions, hasWeather } = options
  const outcomes = Object.entries(verdict.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  const kinds = [...Map.groupBy(firstSentMs, ({ what }) => what)].map(
    ([what, all]) => `  ${`${what} (${all.length})`.padEnd(30)} next job sent ${spread(all.map(({ ms }) => ms))}`
  )
  return [
    '',
    `Chaos, seed ${result.seed}: ${engines} engines on one PostgreSQL, ${verdict.asked} jobs on ${versions.length} real Scrapyds, ${engineKills} kill -9, ${stalls} SIGSTOP, ${databaseRestarts} restarts of PostgreSQL${hasWeather ? ', faults in the network of the nodes' : ''}, in ${result.seconds} s`,
    '',
    `  asked for            ${verdict.asked}, acknowledged ${verdict.acknowledged} (${result.askedAgain} requests were asked again)`,
    `  outcomes             ${outcomes.join(', ')}`,
    `  runs                 ${verdict.runs}`,
    `  lost                 ${verdict.lost.length + verdict.forgotten.length}`,
    `  never ran, explained ${verdict.neverRanButExplained.length}`,
    `  duplicated           ${verdict.duplicated.length}, unflagged ${verdict.unflagged.length}; flagged in vain ${verdict.flaggedInVain.length}`,
    `  not believed         ${verdict.endedWellButNotBelieved.length}; false success ${verdict.succeededWithoutRun.length}; wrongly "absent" ${verdict.wronglyAbsent.length}`,
    `  firings              ${result.firings}, each once unless complained about below`,
    `  terms                ${result.terms} leaders one after the other; engines that ended by themselves: ${result.endedItself}`,
    ...kinds,
    ...describeEnd(complaints, 'Nothing lost, nothing run twice unflagged, each firing once.')
  ].join('\n')
}

function spread(values: (number | null)[]): string {
  const known = values.filter((value) => value !== null).toSorted((left, right) => left - right)
  if (known.length === 0) return 'never'
  const median = known[Math.floor(known.length / 2)]!
  return `${Math.round(median)} ms (median), ${Math.round(known.at(-1)!)} ms (most)`
}
