import { expect, it } from 'vitest'
import { pickLength } from '../scripts/test-length.mjs'
import { LIMIT_MS, runSimulation } from './testing/run-simulation.ts'

const STORIES = pickLength(30, 500, 12)
const OF_SEVERAL = pickLength(6, 300, 3)

const hashesOf = (output: string) =>
  new Map([...output.matchAll(/^(\d+) ([0-9a-f]{12}) /gm)].map(([, seed, hash]) => [Number(seed), hash]))

it(
  `loses nothing and runs nothing twice in ${STORIES} stories in which everything goes wrong that can; each seed tells the same story every time, in whatever company`,
  () => {
    const together = runSimulation('--seeds', String(STORIES), '--verbose')
    expect(together).toContain(`${STORIES} stories`)
    const alone = hashesOf(runSimulation('--seeds', '4', '--verbose', '--processes', '1'))
    expect([...alone.keys()].sort()).toEqual([1, 2, 3, 4])
    expect([...hashesOf(together)]).toEqual(expect.arrayContaining([...alone]))
  },
  LIMIT_MS
)

it(
  `three engines on one database lose nothing and run nothing twice in ${OF_SEVERAL} stories, the same every time`,
  () => {
    const several = ['--engines', '3', '--verbose', '--seeds']
    const together = runSimulation(...several, String(OF_SEVERAL))
    expect(together).toMatch(/[1-9]\d* {2}an engine leads/)
    const alone = hashesOf(runSimulation(...several, '2', '--processes', '1'))
    expect([...hashesOf(together)]).toEqual(expect.arrayContaining([...alone]))
  },
  LIMIT_MS
)
