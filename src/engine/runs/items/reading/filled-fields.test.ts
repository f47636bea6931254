import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { countFilled } from '../serve-items.ts'

const SIGNAL = new AbortController().signal

let directory: TemporaryDirectory
beforeAll(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
})
afterAll(() => directory.remove())

async function countIn(text: string) {
  const path = join(directory.path, 'items.jl')
  await writeFile(path, text)
  const sizeBytes = Buffer.byteLength(text)
  const unused = { convertedPath: '', convertedMaxBytes: 0, spillDirectory: '', fileId: '' }
  return countFilled({ path, sizeBytes, ...unused }, SIGNAL)
}

const EXPECTED = {
  items: 3,
  fields: [
    ['title', 3],
    ['price', 1]
  ],
  hasMoreFields: false
}

test.each([
  [
    'JSON lines, also with lines that are no items',
    '{"title":"a","price":1}\n{"title":"b","price":null}\n[1]\nx\n{"title":"c","price":""}\n{"ti'
  ],
  ['a JSON list', '[{"title":"a","price":0},\n{"title":"b"},\n{"title":"c","price":null}]'],
  ['CSV', 'title,price\na,1\nb,\nc,\n']
])('counts in how many items of %s each field is filled', async (_name, text) => {
  expect(await countIn(text)).toEqual(EXPECTED)
})

test('an empty file has no items', async () => {
  expect(await countIn('')).toEqual({ items: 0, fields: [], hasMoreFields: false })
})

test('keeps the most frequent fields of items whose field names depend on their content', async () => {
  const items = Array.from({ length: 300 }, (_, at) => JSON.stringify({ [`id ${at}`]: 1, price: 1 }))
  const { fields, hasMoreFields } = await countIn(items.join('\n'))
  expect(fields[0]).toEqual(['price', 300])
  expect(fields).toHaveLength(100)
  expect(hasMoreFields).toBe(true)
})

test('counts any names and values like a simple count', async () => {
  const value = fc.oneof(fc.constantFrom(null, '', 0, false), fc.jsonValue())
  const items = fc.array(fc.dictionary(fc.constantFrom('price', '__proto__', 'constructor', ''), value), {
    maxLength: 9
  })
  await fc.assert(
    fc.asyncProperty(items, async (all) => {
      const { items, fields } = await countIn(all.map((item) => `${JSON.stringify(item)}\n`).join(''))
      expect(items).toBe(all.length)
      for (const [name, filled] of fields) {
        const having = all.filter((item) => Object.hasOwn(item, name) && item[name] !== null && item[name] !== '')
        expect(filled).toBe(having.length)
      }
    }),
    { numRuns: 30 }
  )
})
