import { setTimeout as delay } from 'node:timers/promises'
import { compare, type Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { findMarked, type Memory, readMemory } from './support/marked-processes.ts'
import { median, openedAtMs, progress, schedule, type Side, startOurs, startTheirs } from './support/sides.ts'

export const about =
  'private memory of an idle running spider on the local node, beside a cold start by a real Scrapyd 1.6'

const SPIDERS = 8
const SETTLE_MS = 1_000

/**
 * Measures the memory of every process that is started for idle spiders, but not of the server: on our side the
 * spiders, their supervisors and the shared warm parent; on Scrapyd, only the spiders. Private means Private_Clean +
 * Private_Dirty of smaps_rollup. `proportional_ratio` uses Pss, which includes shares of shared memory.
 */
export const run = () => measure({ spiders: SPIDERS, rounds: 3 })

export async function measure(options: { spiders: number; rounds: number }): Promise<Figure[]> {
  const { spiders, rounds } = options
  const ours: Memory[] = []
  const theirs: Memory[] = []
  for (let round = 1; round <= rounds; round += 1) {
    ours.push(await perSpider(() => startOurs({ slots: spiders }), spiders))
    theirs.push(await perSpider(() => startTheirs('Scrapyd', { maxProc: spiders, pollIntervalSeconds: 0.5 }), spiders))
    const [own, other] = [ours.at(-1)!, theirs.at(-1)!].map(({ privateBytes }) => megabytes(privateBytes))
    progress(`private ${round}/${rounds}: ${own} MB a spider, Scrapyd ${other} MB`)
  }
  const privateOf = (memories: Memory[]) => median(memories.map(({ privateBytes }) => privateBytes))
  const proportionalOf = (memories: Memory[]) => median(memories.map(({ proportionalBytes }) => proportionalBytes))
  const ratio = (of: (memories: Memory[]) => number) => Math.round((of(ours) / of(theirs)) * 1000) / 1000
  const conditions = {
    spiders,
    rounds,
    private_mb: megabytes(privateOf(ours)),
    cold_private_mb: megabytes(privateOf(theirs)),
    proportional_mb: megabytes(proportionalOf(ours)),
    cold_proportional_mb: megabytes(proportionalOf(theirs)),
    scrapyd: '1.6.0',
    ...machine()
  }
  return [
    ...compare(
      'private',
      {
        ours: megabytes(privateOf(ours)),
        bound: megabytes(privateOf(theirs)),
        unit: 'MB',
        boundIs: "Scrapyd's spiders",
        wanted: { atMost: 0.6 }
      },
      conditions
    ),
    { figure: 'proportional_ratio', value: ratio(proportionalOf), unit: 'times', conditions }
  ]
}

async function perSpider(start: () => Promise<Side>, spiders: number): Promise<Memory> {
  const side = await start()
  try {
    for (let count = 0; count < spiders; count += 1) await openedAtMs(side, 'idle', await schedule(side, 'idle'))
    await delay(SETTLE_MS)
    const memories = findMarked(side.directory)
      .filter((pid) => pid !== side.pid)
      .flatMap((pid) => readMemory(pid) ?? [])
    const sum = (of: (memory: Memory) => number) => memories.reduce((total, memory) => total + of(memory), 0) / spiders
    return {
      privateBytes: sum(({ privateBytes }) => privateBytes),
      proportionalBytes: sum(({ proportionalBytes }) => proportionalBytes)
    }
  } finally {
    await side.stop()
  }
}

const megabytes = (bytes: number) => Math.round((bytes / 1e6) * 10) / 10
