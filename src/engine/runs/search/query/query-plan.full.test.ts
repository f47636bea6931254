import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher, type LineQuery } from '../../logs/scan/line-matcher.ts'
import { bitsOf, FilterBuilder, hasBit } from '../index/block-filter.ts'
import { fitsTerm } from '../index/index-files.ts'
import { createQueryPlan, isEverything } from './query-plan.ts'

const filterOf = (text: string): Uint8Array => {
  const builder = new FilterBuilder()
  builder.add(Buffer.from(text))
  return builder.take()
}
const mayMatch = (query: LineQuery, text: string): boolean => {
  const filter = filterOf(text)
  return fitsTerm(createQueryPlan(query), (bit) => hasBit(filter, bit))
}
const matches = (query: LineQuery, text: string): boolean => {
  let found = false
  createMatcher(query).find(Buffer.from(text), () => {
    found = true
    return false
  })
  return found
}
const ofText = (text: string, isRegex = false, matchesCase = false): LineQuery => ({ text, isRegex, matchesCase })

const LOG = `2026-11-02 12:00:00 [scrapy.core.engine] DEBUG: Crawled (200) <GET https://shop.example.com/a/product-7654321.html>
2026-11-02 12:00:01 [prices] ERROR: order 4711 of Käse GmbH failed: KeyError: 'price'
Traceback (most recent call last):
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]
`

describe('a query', () => {
  test.each([
    ['product-7654322', false],
    ['order 4712 ', false],
    ['connection refused', false],
    [String.raw`\border 48\d2\b|KeyError: 'name'`, true],
    [String.raw`\bprod\b`, true],
    ['(?:timeout|refused)+ after', true],
    ['3f2504e0-4f89-11d3-9a0c-0305e82c3301', false]
  ])('for %s rules out a block without it', (text, isRegex) => {
    expect(mayMatch(ofText(text, isRegex), LOG)).toBe(false)
  })

  test.each(['.*', 'a|', '(foo)?', '[abc]+', '(?i:foo)', String.raw`\d{4}`, 'x{0}', '(?!foo)', 'ab'])(
    'for %s, which requires no text of three characters, rules out nothing',
    (source) => {
      expect(isEverything(createQueryPlan(ofText(source, true)))).toBe(true)
    }
  )

  test('of many bits looks up only some of them', () => {
    const plan = createQueryPlan(ofText(Array.from({ length: 200 }, (_, index) => `${index * 7919}-`).join('')))
    expect('bits' in plan && plan.bits.length).toBe(40)
  })
})

describe('a block that contains a match is always a candidate', () => {
  const chars = fc.constantFrom(...'abcKkSsſKE0123_-./ :éÉ中\ufffd\ud83d'.split(''), '😀', 'product', '4711')
  const lines = fc.array(chars, { maxLength: 40 }).map((parts) => parts.join(''))
  const flags = fc.record({ isRegex: fc.constant(false), matchesCase: fc.boolean() })

  test('for a part of its text, in any case', () => {
    const changed = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.toUpperCase(),
      (text) => text.toLowerCase()
    )
    fc.assert(
      fc.property(
        lines,
        fc.nat(40),
        fc.integer({ min: 1, max: 20 }),
        flags,
        changed,
        (line, from, length, options, change) => {
          const text = change(line.slice(from, from + length))
          fc.pre(text !== '')
          const query = { text, ...options }
          if (matches(query, line)) expect(mayMatch(query, line)).toBe(true)
        }
      ),
      { numRuns: 800 }
    )
  })

  const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
  const { expression } = fc.letrec<{ expression: string; atom: string; quantified: string }>((tie) => ({
    expression: fc.oneof(
      { weight: 3, arbitrary: fc.array(tie('quantified'), { minLength: 1, maxLength: 5 }).map((all) => all.join('')) },
      fc.tuple(tie('quantified'), tie('quantified')).map(([one, other]) => `${one}|${other}`)
    ),
    quantified: fc
      .tuple(tie('atom'), fc.constantFrom('', '', '', '?', '*', '+', '{2}', '{0,3}', '{1,}?', '+?'))
      .map(([atom, quantifier]) => `${atom}${quantifier}`),
    atom: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      {
        weight: 6,
        arbitrary: chars
          .filter((char) => char.length === 1 || char.charCodeAt(0) < 128)
          .map(escaped)
          .map((text) => (text.length > 2 ? `(?:${text})` : text))
      },
      fc.constantFrom(
        '.',
        '[a-c]',
        '[^]',
        String.raw`[\]x]`,
        String.raw`\d`,
        String.raw`\w`,
        '(?:^)',
        '(?:$)',
        String.raw`(?:\b)`
      ),
      fc.constantFrom(
        String.raw`\x61`,
        String.raw`\u0061`,
        '(?=a)',
        '(?<!a)',
        '(?:a)',
        '(?<name>b)',
        '(?i:A)',
        'abc',
        '4711',
        'abc1'
      ),
      tie('expression').map((inner) => `(${inner})`),
      tie('expression').map((inner) => `(?:${inner})`)
    )
  }))

  test('for an expression', () => {
    let tried = 0
    fc.assert(
      fc.property(expression, lines, fc.boolean(), (source, line, matchesCase) => {
        const query = ofText(source, true, matchesCase)
        try {
          if (!matches(query, line)) return
        } catch (error) {
          if (error instanceof SyntaxError) return
          throw error
        }
        tried += 1
        expect(mayMatch(query, line)).toBe(true)
      }),
      { numRuns: 2_000 }
    )
    expect(tried).toBeGreaterThan(150)
  })

  test('even across word separators', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('ab', 'abc', 'abcd', 'x1', '-', ' ', '_'), { maxLength: 12 }), (parts) => {
        const line = parts.join('')
        for (const source of [String.raw`\babc\b`, String.raw`abcd\b`, String.raw`\bab`, String.raw`x1\b-\babc\b`]) {
          const query = ofText(source, true, true)
          if (matches(query, line)) expect(mayMatch(query, line), `${source} in ${line}`).toBe(true)
        }
      })
    )
  })
})

test('a copied filter can be continued', () => {
  const builder = new FilterBuilder()
  builder.add(Buffer.from('order 4711'))
  const first = builder.take()
  builder.load(first)
  builder.add(Buffer.from('timeout'))
  const both = builder.take()
  for (const text of ['order 4711', 'timeout'])
    expect(bitsOf(Buffer.from(text), { isStart: true, isEnd: true }).every((bit) => hasBit(both, bit))).toBe(true)
  expect(bitsOf(Buffer.from('1tim')).every((bit) => hasBit(both, bit))).toBe(false)
})
