import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALLOWED_DIFFERENCES } from './allowed-differences.ts'
import { firstDifference, judge } from './comparison.ts'
import type { Exchange, Seen } from './exchange.ts'

const seen = (body: string, more: Partial<Seen> = {}): Seen => ({ status: 200, headers: {}, body, ...more })
const exchange = (theirs: Seen, ours: Seen): Exchange => ({
  scenario: 'a test',
  request: { method: 'GET', path: '/x' },
  theirs,
  ours
})

describe('allowed differences', () => {
  it('each is explained at its anchor and has a unique id', () => {
    const text = readFileSync(join(import.meta.dirname, '../../docs/scrapyd-compatibility.md'), 'utf8')
    const headings = [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
    for (const { anchor } of ALLOWED_DIFFERENCES) expect(headings).toContain(anchor)
    expect(new Set(ALLOWED_DIFFERENCES.map(({ id }) => id)).size).toBe(ALLOWED_DIFFERENCES.length)
  })

  const upperCase = {
    id: 'upper',
    reason: '',
    anchor: '',
    applies: () => true,
    expect: (theirs: Seen) => ({ ...theirs, body: theirs.body.toUpperCase() })
  }

  it('turn their response into ours, and each use is counted', () => {
    expect(judge(exchange(seen('a'), seen('A')), [upperCase])).toEqual({ difference: null, used: ['upper'] })
  })

  it('are not counted where both responses are the same', () => {
    expect(judge(exchange(seen('a'), seen('a')), [upperCase])).toEqual({ difference: null, used: [] })
  })

  it('do not hide any other difference', () => {
    const { difference } = judge(exchange(seen('a'), seen('A', { status: 500 })), [upperCase])
    expect(difference).toBe('status: theirs 200, ours 500')
  })

  it('the message about a difference says where it is', () => {
    expect(firstDifference(seen('', { headers: { allow: 'GET' } }), seen(''))).toBe(
      'header allow: theirs GET, ours absent'
    )
    expect(firstDifference(seen('{"a": 1}'), seen('{"a":1}'))).toContain('body, from character 5')
  })
})
