import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeTags, meetsTags } from './tag-terms.ts'

describe('terms on the tags of a node', () => {
  it.each([
    [[], [], true],
    [['eu'], ['eu', 'big'], true],
    [['eu'], ['us'], false],
    [['!slow'], [], true],
    [['!slow'], ['slow'], false],
    [['eu|us', '!slow'], ['us'], true],
    [['eu|us', '!slow'], ['us', 'slow'], false],
    [['gpu|!slow'], ['slow'], false],
    [['gpu|!slow'], ['slow', 'gpu'], true]
  ])('%j on a node tagged %j: %s', (terms, tags, isMet) => {
    expect(meetsTags(terms, tags)).toBe(isMet)
  })

  it.each([
    [[], ''],
    [['eu'], 'tagged eu'],
    [['big', 'eu'], 'tagged big and eu'],
    [['eu|us', '!slow'], 'tagged eu or us, not slow'],
    [['!slow', '!old'], 'not tagged slow or old'],
    [['eu|us', 'big'], 'tagged (eu or us) and big'],
    [['gpu|!slow'], 'tagged gpu or not slow']
  ])('%j in words: %s', (terms, words) => {
    expect(describeTags(terms)).toBe(words)
  })

  const tags = fc.subarray(['a', 'b', 'c'])
  const parts = fc.record({ tag: fc.constantFrom('a', 'b', 'c'), isNot: fc.boolean() })
  const clauses = fc.array(fc.array(parts, { minLength: 1, maxLength: 3 }), { maxLength: 4 })
  const written = (clause: { tag: string; isNot: boolean }[]) =>
    clause.map(({ tag, isNot }) => (isNot ? `!${tag}` : tag)).join('|')

  it('match like the logical expression they represent', () => {
    fc.assert(
      fc.property(clauses, tags, (expression, onNode) => {
        const isTrue = expression.every((clause) => clause.some(({ tag, isNot }) => onNode.includes(tag) !== isNot))
        expect(meetsTags(expression.map(written), onNode)).toBe(isTrue)
      })
    )
  })

  it('adding a term never matches more nodes, adding an alternative to a term never fewer', () => {
    fc.assert(
      fc.property(clauses, parts, tags, (expression, part, onNode) => {
        const before = meetsTags(expression.map(written), onNode)
        const narrower = meetsTags([...expression, [part]].map(written), onNode)
        const wider = meetsTags(
          expression.map((clause) => written([...clause, part])),
          onNode
        )
        expect([!narrower || before, !before || wider]).toEqual([true, true])
      })
    )
  })
})
