import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { versionOrder } from './version-order.ts'

const sorted = (versions: string[]) => versions.toSorted(versionOrder(versions)!)

describe('versions by name', () => {
  // The order of `sorted(key=packaging.version.Version)`, with the dots that Scrapyd replaces.
  it.each([
    [['2', '10', '9']],
    [['1700000000', '1700000001', '1699999999']],
    [['1.9', '1.10', '1.0.1']],
    [['1_9', '1_10']],
    [['1.dev1', '1a1', '1b1', '1rc1', '1', '1.post1']],
    [['1', '1-1', 'v2']],
    [['1.0a1.dev1', '1.0a1', '1.0a1.post1']]
  ])('%j', (versions) => {
    const right: Record<string, string[]> = {
      '2,10,9': ['2', '9', '10'],
      '1700000000,1700000001,1699999999': ['1699999999', '1700000000', '1700000001'],
      '1.9,1.10,1.0.1': ['1.0.1', '1.9', '1.10']
    }
    const expected = right[versions.join()] ?? versions
    expect(sorted(versions)).toEqual(expected)
    expect(sorted(versions.toReversed())).toEqual(expected)
  })

  it.each([[['1', 'abc']], [['r10-master']], [['1', '']], [['2018-09-05T03_13_50']]])(
    '%j have no order by name',
    (versions) => {
      expect(versionOrder(versions)).toBeNull()
    }
  )

  it('any names are either ordered or not, quickly', () => {
    const piece = fc.constantFrom('1', '0', '9', '.', '_', '-', 'a', 'rc', 'post', 'dev', 'v', '!', 'x')
    const name = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
        const order = versionOrder(names)
        if (order === null) return
        for (const one of names) for (const other of names) expect(order(one, other) + order(other, one)).toBe(0)
      })
    )
  })
})
