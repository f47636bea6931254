import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { createEngine } from '../src/engine/index.ts'
import type { Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { copyDatabase, seedDatabase } from './support/seed-database.ts'
import { OWNER } from '../src/engine/access/principal.ts'
import { median, progress } from './support/sides.ts'

export const about =
  'an engine that starts on a long queue and many unresolved attempts, until its dispatcher has planned once'

export const run = (): AsyncIterable<Figure> =>
  measure({
    sizes: [
      { queued: 1_000, live: 10 },
      { queued: 100_000, live: 1_000 },
      { queued: 1_000_000, live: 10_000 }
    ],
    rounds: 3
  })

interface Size {
  queued: number
  live: number
}

/** The attempts are in the state that a kill leaves: sent, with no record of whether they arrived. */
export async function* measure({ sizes, rounds }: { sizes: Size[]; rounds: number }): AsyncGenerator<Figure> {
  for (const { queued, live } of sizes) {
    const tookS: number[] = []
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-recover-'))
    try {
      await seedDatabase(join(directory, 'seed'), { finished: 0, queued, live })
      for (let round = 1; round <= rounds; round += 1) {
        const ofRound = join(directory, String(round))
        await copyDatabase(join(directory, 'seed'), ofRound)
        tookS.push(await recover(ofRound, queued))
        progress(`recover ${queued} queued, ${live} unresolved, ${round}/${rounds}: ${tookS.at(-1)?.toFixed(2)} s`)
        rmSync(ofRound, { recursive: true })
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
    const conditions = { queued, unresolved: live, rounds, ...machine() }
    yield { figure: 'ready_s', value: Math.round(median(tookS) * 100) / 100, unit: 's', conditions }
  }
}

/**
 * Returns the seconds from the start of an engine until its dispatcher has made a plan, which the reason of a waiting
 * job shows.
 */
async function recover(dataDirectory: string, queued: number): Promise<number> {
  const startedMs = performance.now()
  const engine = await createEngine({
    dataDirectory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0
  })
  try {
    const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
    await until('the dispatcher to plan', async () => {
      const { jobs } = await client.jobs.list({ status: ['queued'], limit: 1 })
      return queued === 0 || (jobs[0]?.waiting != null && jobs[0].waiting.code !== 'next_in_line')
    })
    return (performance.now() - startedMs) / 1_000
  } finally {
    await engine.stop()
  }
}
