import { describe, expect, it } from 'vitest'
import { aNodeId } from '../../../../shared/testing/ids.ts'
import { type BrokenEgg, type EggCandidate, findBrokenEgg } from './broken-egg.ts'

const MINUTE_MS = 60_000
const NOW_MS = 100 * MINUTE_MS
const MISSING = "ModuleNotFoundError: No module named 'x'"
const OUTPUT = `Traceback (most recent call last):\n  File "/tmp/shop-1.egg"\n${MISSING}\n`

function candidate(values: Partial<EggCandidate> = {}): EggCandidate {
  const name = values.name ?? 'n'
  return {
    id: aNodeId(name),
    name,
    mode: 'active',
    isUp: true,
    awaySinceMs: null,
    egg: 'absent',
    importError: null,
    ...values
  }
}

const refused = (values: Partial<EggCandidate> = {}, output = OUTPUT, atMs = NOW_MS) =>
  candidate({ egg: 'never', importError: { output, atMs }, ...values })
const judge = (...candidates: EggCandidate[]) => findBrokenEgg(candidates, NOW_MS)

describe('jobs whose egg cannot be imported', () => {
  it('fail once every possible node has refused it with the same error, apart from the paths in it', () => {
    const other = refused({ name: 'm', egg: 'absent' }, `File "/srv/9.egg"\n${MISSING}`, NOW_MS - 1)
    expect(judge(refused(), other)).toEqual<BrokenEgg>({
      error: MISSING,
      nodes: ['n', 'm'],
      output: OUTPUT,
      triedSinceMs: NOW_MS - 1,
      askAgain: [aNodeId('m')]
    })
  })

  it('that came later are tried on the nodes that are up, longest since their refusal first', () => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
    const nodes = names.map((name, index) => refused({ name, egg: 'absent' }, OUTPUT, NOW_MS - index))
    const down = refused({ name: 'down', egg: 'absent', isUp: false, awaySinceMs: NOW_MS }, OUTPUT, 0)
    const longestFirst = names.toReversed().map(aNodeId)
    expect(judge(refused(), down, ...nodes)?.askAgain).toEqual(longestFirst.slice(0, 8))
  })

  it.for<[string, EggCandidate]>([
    ['has not tried it', candidate()],
    ['is being sent it', candidate({ egg: 'sending' })],
    ['is being sent it again', refused({ egg: 'sending' })],
    ['has the egg', candidate({ egg: 'present' })],
    [
      'has the egg, cordoned and down for a day',
      candidate({ egg: 'present', mode: 'cordoned', isUp: false, awaySinceMs: 0 })
    ],
    ['has just begun to restart', candidate({ isUp: false, awaySinceMs: NOW_MS - 9 * MINUTE_MS })],
    ['has not answered since we started', candidate({ isUp: false })],
    ['fails for another reason', refused({}, 'SyntaxError: invalid syntax')]
  ])('wait while a node %s', ([, other]) => {
    expect(judge(refused(), other)).toBeNull()
    expect(judge(other, refused())).toBeNull()
  })

  const longDown = { isUp: false, awaySinceMs: NOW_MS - 10 * MINUTE_MS }
  it.for<[string, EggCandidate]>([
    ['is cordoned', candidate({ mode: 'cordoned' })],
    ['has been down for ten minutes', candidate(longDown)],
    ['has been down for ten minutes, and refused it long before', refused({ ...longDown, name: 'm' }, OUTPUT, 0)]
  ])('do not wait for a node that %s', ([, other]) => {
    expect(judge(refused(), other)).toMatchObject({ error: MISSING, nodes: ['n'], triedSinceMs: NOW_MS })
  })

  it('wait while no node has refused it', () => {
    expect(judge()).toBeNull()
    expect(judge(candidate({ mode: 'cordoned' }))).toBeNull()
  })
})
