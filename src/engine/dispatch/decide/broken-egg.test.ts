import { describe, expect, it } from 'vitest'
import { describeImportErrors, type EggCandidate, errorOfBrokenEgg } from './broken-egg.ts'

const MINUTE_MS = 60_000
const NOW_MS = 100 * MINUTE_MS
const MISSING = "ModuleNotFoundError: No module named 'x'"

function candidate(values: Partial<EggCandidate> = {}): EggCandidate {
  return { name: 'n', mode: 'active', isUp: true, downSinceMs: null, hasEgg: false, importError: null, ...values }
}

const refused = (error = `Traceback (most recent call last):\n  File "/tmp/shop-1.egg"\n${MISSING}\n`) =>
  candidate({ importError: error })
const judge = (...candidates: EggCandidate[]) => errorOfBrokenEgg(candidates, NOW_MS)

describe('jobs whose egg cannot be imported', () => {
  it('fail once every node that could take them has refused it with the same error, wherever its files are', () => {
    expect(judge(refused(), refused(`File "/srv/9.egg"\n${MISSING}`))).toBe(MISSING)
  })

  it.for<[string, EggCandidate]>([
    ['has not tried it', candidate()],
    ['has the egg', candidate({ hasEgg: true })],
    [
      'has the egg, cordoned and down for a day',
      candidate({ hasEgg: true, mode: 'cordoned', isUp: false, downSinceMs: 0 })
    ],
    ['has just begun to restart', candidate({ isUp: false, downSinceMs: NOW_MS - 9 * MINUTE_MS })],
    ['has not answered since we started', candidate({ isUp: false })],
    ['fails for another reason', refused('SyntaxError: invalid syntax')]
  ])('wait while a node %s', ([, other]) => {
    expect(judge(refused(), other)).toBeNull()
  })

  it.for<[string, EggCandidate]>([
    ['is cordoned', candidate({ mode: 'cordoned' })],
    ['has been down for ten minutes', candidate({ isUp: false, downSinceMs: NOW_MS - 10 * MINUTE_MS })]
  ])('do not wait for a node that %s', ([, other]) => {
    expect(judge(refused(), other)).toBe(MISSING)
  })

  it('wait while no node has refused it', () => {
    expect(judge()).toBeNull()
    expect(judge(candidate({ mode: 'cordoned' }))).toBeNull()
  })

  it('have a waiting reason that names the node and the error', () => {
    expect(describeImportErrors('3', [])).toBeNull()
    expect(describeImportErrors('3', [['eu-1', `Traceback\n${MISSING}`]])).toBe(
      `eu-1 cannot import version 3: ${MISSING}`
    )
    expect(
      describeImportErrors('3', [
        ['eu-1', MISSING],
        ['eu-2', MISSING]
      ])
    ).toBe(`eu-1 and 1 more cannot import version 3: ${MISSING}`)
  })
})
