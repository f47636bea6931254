import { expect, it } from 'vitest'
import { matchWords, parseTagExpression } from './tag-expression.ts'

const nodes = [
  { name: 'eu-1', tags: ['eu'] },
  { name: 'eu-2', tags: ['eu', 'slow'] },
  { name: 'us-1', tags: ['us'] },
  { name: 'us-2', tags: ['us'] },
  { name: 'ap-1', tags: ['ap'] }
]

it('parses an expression into terms that must all hold', () => {
  expect(parseTagExpression(' eu | us,  ! slow ')).toEqual({ terms: ['eu|us', '!slow'] })
  expect(parseTagExpression('')).toEqual({ terms: [] })
})

it('reports invalid expressions', () => {
  for (const text of ['eu||us', '!!slow', '|', 'eu|'])
    expect(parseTagExpression(text)).toEqual({ problem: expect.stringContaining('is not valid') as string })
})

it('says which nodes match, and which tag no node has', () => {
  expect(matchWords(['eu|us', '!slow'], nodes)).toEqual({
    text: 'matches 3 of 5 nodes: eu-1, us-1, us-2',
    isEmpty: false
  })
  expect(matchWords(['gpu'], nodes)).toEqual({ text: 'matches 0 of 5 nodes: no node has the tag gpu', isEmpty: true })
})
