import { expect, test } from 'vitest'
import { freeBuffer } from './byte-window.ts'

test('a large buffer is freed at once, one that shares its memory with others stays', () => {
  const large = Buffer.allocUnsafe(Buffer.poolSize + 1)
  freeBuffer(large)
  expect(large.length).toBe(0)
  const small = Buffer.from('shared')
  freeBuffer(small)
  expect(small.toString()).toBe('shared')
  const shared = Buffer.from(new SharedArrayBuffer(2 * Buffer.poolSize))
  freeBuffer(shared)
  expect(shared.length).toBe(2 * Buffer.poolSize)
})
