import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findLines, type FoundLine } from './find-lines.ts'
import { createMatcher, type LineQuery } from './line-matcher.ts'
import { type OpenLog, wholeLines } from './log-file.ts'

function inBlocks(bytes: Buffer, blockBytes: number): OpenLog {
  return {
    sizeBytes: bytes.length,
    *blocks(from, to) {
      for (let at = from; at < to; at += blockBytes) {
        yield { offset: at, bytes: bytes.subarray(at, Math.min(at + blockBytes, to)) }
      }
    },
    close() {}
  }
}

function search(log: OpenLog, query: LineQuery, from = 0, to = log.sizeBytes) {
  const found: FoundLine[] = []
  const onLine = (line: FoundLine) => found.push(line) > 0
  const blocks = wholeLines(log, from, to)
  const { lines } = findLines(blocks, createMatcher(query), { countsLines: true, onLine, isStopped: () => false })
  return { found, lines }
}

function expectedIn(bytes: Buffer, { text, isRegex, matchesCase }: LineQuery) {
  // With an ASCII expression, a character beyond U+FFFF counts as two, as in the matcher.
  const unicode = /^[\0-\x7f]*$/.test(text) ? '' : 'u'
  const source = isRegex ? text : text.replace(/[.*+?]/g, '\\$&')
  const pattern = new RegExp(source, `${matchesCase ? '' : 'i'}m${unicode}`)
  const found: { offset: number; linesBefore: number; text: string }[] = []
  let offset = 0
  const lines = bytes.toString('latin1').split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const [linesBefore, latin] of lines.entries()) {
    const line = Buffer.from(latin, 'latin1').toString('utf8')
    if (pattern.test(line)) found.push({ offset, linesBefore, text: line })
    offset += latin.length + 1
  }
  return found
}

const word = fc.constantFrom('a', 'b', 'ab', 'É', 'é', '漢字', '\n', '\r\n', ' ', '.', '😀', 'ERROR', '\n\n')
const line = fc.oneof({ weight: 9, arbitrary: word.map((text) => Buffer.from(text)) }, fc.constant(Buffer.from([0xff])))
const bytes = fc.array(line, { maxLength: 40 }).map((parts) => Buffer.concat(parts))
const query = fc.oneof(
  fc.record({
    text: fc.constantFrom('a', 'ab', 'é', '漢', '.', 'error', '😀'),
    isRegex: fc.constant(false),
    matchesCase: fc.boolean()
  }),
  fc.record({
    text: fc.constantFrom(
      'a',
      '^a',
      'b$',
      'a[^x]+b',
      'a\\s*b',
      '^$',
      'é|É',
      'a.b',
      '(a|b)+',
      '$',
      '^',
      'ERROR',
      'ERROR.*b',
      'a?error\\b',
      '(?:ERROR)+a|ERRORb'
    ),
    isRegex: fc.constant(true),
    matchesCase: fc.boolean()
  })
)

test('a search finds the same lines as a simple search line by line, whatever the blocks are', () => {
  fc.assert(
    fc.property(bytes, query, fc.integer({ min: 1, max: 30 }), (text, wanted, blockBytes) => {
      const { found, lines } = search(inBlocks(text, blockBytes), wanted)
      expect(found.map(({ offset, linesBefore, text }) => ({ offset, linesBefore, text }))).toEqual(
        expectedIn(text, wanted)
      )
      expect(lines).toBe(text.filter((byte) => byte === 10).length)
    }),
    { numRuns: 500 }
  )
})

test('consecutive parts of a log together find each line once', () => {
  fc.assert(
    fc.property(bytes, query, fc.array(fc.nat(100), { maxLength: 4 }), (text, wanted, cuts) => {
      const log = inBlocks(text, 7)
      const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
      const parts = places.slice(1).map((to, index) => search(log, wanted, places[index], to))
      expect(parts.flatMap(({ found }) => found.map(({ offset, text }) => ({ offset, text })))).toEqual(
        expectedIn(text, wanted).map(({ offset, text }) => ({ offset, text }))
      )
      expect(parts.reduce((sum, { lines }) => sum + lines, 0)).toBe(text.filter((byte) => byte === 10).length)
    }),
    { numRuns: 500 }
  )
})

test('the match is marked in the text, also far into a long line', () => {
  const log = inBlocks(Buffer.from(`${'x'.repeat(2_000)}needle${'y'.repeat(2_000)}\nshort needle\n`), 1_000)
  const { found } = search(log, { text: 'needle', isRegex: false, matchesCase: true })
  expect(found.map(({ text, matchAt, matchLength }) => text.slice(matchAt, matchAt + matchLength))).toEqual([
    'needle',
    'needle'
  ])
  expect(found[0]!.text).toHaveLength(500)
})

test('a line of 10 MB is searched in pieces without harm', () => {
  const log = inBlocks(Buffer.from(`${'x'.repeat(10_000_000)}needle\nneedle\n`), 1_048_576)
  const { found, lines } = search(log, { text: 'needle', isRegex: false, matchesCase: true })
  expect(found.map(({ offset }) => offset).at(-1)).toBe(10_000_007)
  expect(lines).toBe(2)
})

test('an invalid expression is a SyntaxError', () => {
  expect(() => createMatcher({ text: '(', isRegex: true, matchesCase: true })).toThrow(SyntaxError)
})
