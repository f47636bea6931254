import fc from 'fast-check'
import { expect, it } from 'vitest'
import { maskField, writeMasked } from './audit-mask.ts'
import { SECRET_MASK } from './secret-values.ts'

const M = SECRET_MASK
const masked = (value: unknown, max = 1_000): unknown => JSON.parse(writeMasked(value, max).text)

it.each([
  [
    { password: 'x', hasPassword: true, sealedToken: 'y', apiKey: 'z', slots: 2 },
    { password: M, hasPassword: true, sealedToken: M, apiKey: M, slots: 2 }
  ],
  [
    { headers: { Accept: 'x' }, env: { PATH: 'y' } },
    { headers: { Accept: M }, env: { PATH: M } }
  ],
  [
    { args: { code: 'x', page: '1' }, secretNames: ['code'] },
    { args: { code: M, page: '1' }, secretNames: ['code'] }
  ],
  [
    { code: 'shown', secretNames: ['code'] },
    { code: 'shown', secretNames: ['code'] }
  ],
  [{ url: 'https://me:pw@host/a?token=x#y' }, { url: 'https://***@host/a?…' }],
  [
    { extraHeaders: { Accept: 'x' }, HEADERS: ['x'], DB_PWD: 'y' },
    { extraHeaders: { Accept: M }, HEADERS: M, DB_PWD: M }
  ],
  [{ note: 'use Bearer abc.def, or basic YTpi' }, { note: `use Bearer ${M}, or basic ${M}` }],
  [
    [`sdk_x`, `see sdk_${'a'.repeat(43)}0011aabb!`, 'a sdk_path'],
    [M, `see ${M}`, 'a sdk_path']
  ],
  [{ yaml: 'nodes:' }, { yaml: '(6 characters)' }],
  [
    { argSets: [{ code: 'x' }], secretNames: ['code'] },
    { argSets: [{ code: M }], secretNames: ['code'] }
  ],
  [undefined, null],
  ['\ud800', '\ufffd']
])('%j is masked as %j', (value, shown) => {
  expect(masked(value)).toEqual(shown)
})

it('a field of an entry is masked by its name', () => {
  expect(maskField('sealedPassword', 'x', 300)).toBe(`"${M}"`)
  expect(maskField('headers', { a: 'b' }, 300)).toBe(`{"a":"${M}"}`)
  expect(maskField('slots', 3, 300)).toBe('3')
  expect(maskField('slots', null, 300)).toBeNull()
})

it('any value becomes JSON of limited length, which is complete unless it says otherwise', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.integer({ min: 0, max: 400 }), (value, max) => {
      const { text, isCut } = writeMasked(value, max)
      JSON.parse(text)
      expect(text.length).toBeLessThan(max * 6 + 1_000)
      if (!isCut && !/[@:]|key|pass|token|hash/i.test(JSON.stringify(value)))
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    })
  )
})

it('of very many values, only as many are read as shown', () => {
  const list = Array.from({ length: 100_000 }, (_, index) => ({ project: 'shop', index }))
  const before = performance.now()
  const { text, isCut } = writeMasked({ jobs: list }, 1_000)
  expect([isCut, text.length < 2_000]).toEqual([true, true])
  expect(performance.now() - before).toBeLessThan(50)
})
