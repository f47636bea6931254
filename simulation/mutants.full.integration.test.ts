import { expect, it } from 'vitest'
import { pickLength } from '../scripts/test-length.mjs'
import { LIMIT_MS, runSimulation } from './testing/run-simulation.ts'

it(
  'finds planted bugs',
  () => {
    const found = runSimulation('--mutants', '--quick', ...pickLength(['--only', 'a slot counts only'], []))
    expect(found.match(/^✓/gm)).toHaveLength(pickLength(1, 3))
  },
  LIMIT_MS
)
