import { expect, test } from 'vitest'
import { numberParameters } from './postgres-database.ts'

test('parameters are numbered, with or without names, and casts stay as they are', () => {
  expect(numberParameters('SELECT a::text FROM t WHERE b = ? AND c IN (?)')).toEqual({
    text: 'SELECT a::text FROM t WHERE b = $1 AND c IN ($2)',
    parameters: [0, 1]
  })
  expect(numberParameters('SELECT :a + :b FROM t WHERE c = :a')).toEqual({
    text: 'SELECT $1 + $2 FROM t WHERE c = $3',
    parameters: ['a', 'b', 'a']
  })
})
