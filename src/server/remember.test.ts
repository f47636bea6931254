import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { remember } from './remember.ts'

it('keeps a short text without the long one that it was cut from, such as a header of 15 KB', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const find = remember((text) => ({ text }))
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 1_000; at += 1) find(`${'x'.repeat(15_000)}198.51.100.${at}`.slice(15_000))
  collect()
  const keptBytes = process.memoryUsage().heapUsed - before
  expect(find('198.51.100.7').text).toBe('198.51.100.7')
  expect(keptBytes).toBeLessThan(2_000_000)
})
