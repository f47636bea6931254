import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ItemCondition } from '../../../shared/contract/index.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { createItemsServer } from './serve-items.ts'
import { openLockedDuckdb } from './duckdb/locked-duckdb.ts'
import { pageWithDuckdb } from './duckdb/duckdb-reader.ts'
import { pointerTo, quoteName, quoteText } from './duckdb/queries.ts'
import type { ItemsSource } from './messages.ts'
import { anItemsFile, aPage, jsonLines } from './testing/items-files.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const server = createItemsServer(true, null)
const plainServer = createItemsServer(false, 'not here')
const signal = new AbortController().signal
const context = { signal, onProgress: () => {} }

let directory: TemporaryDirectory
let made = 0
beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  await mkdir(join(directory.path, 'spill'))
})
afterAll(() => directory[Symbol.asyncDispose]())

const file = (content: string | Buffer) => anItemsFile(directory.path, content, `run-${++made}.jl`)

const BOOKS = [
  { title: 'Dune', price: 9.5, stock: 3, tags: ['sand', 'worm'] },
  { title: 'emma', price: 12, stock: 0 },
  { title: 'Ulysses', price: null, isbn: '0-14' },
  { title: '', price: 100, stock: 7, author: { name: 'X' } }
]

const titles = (page: { rows: { cells: ({ text: string } | null)[] | null }[] }) =>
  page.rows.map(({ cells }) => cells?.[0]?.text ?? null)

describe('a file of items', () => {
  it('is described with the union of its fields and their types', async () => {
    const described = await server.describe({ source: await file(jsonLines(BOOKS)), count: true }, context)
    expect(described).toEqual({
      format: 'jsonl',
      columns: [
        { name: 'title', type: 'text' },
        { name: 'price', type: 'number' },
        { name: 'stock', type: 'number' },
        { name: 'tags', type: 'nested' },
        { name: 'isbn', type: 'text' },
        { name: 'author', type: 'nested' }
      ],
      hasMoreFields: false,
      items: 4,
      unreadable: 0,
      endsInside: false,
      engine: 'duckdb',
      engineProblem: null
    })
  })

  it.each([
    ['a JSON list, one item per line', `[\n${BOOKS.map((book) => JSON.stringify(book)).join(',\n')}\n]`],
    ['an indented JSON list', JSON.stringify(BOOKS, null, 2)],
    ['a JSON list that is still being written', `[\n${BOOKS.map((book) => JSON.stringify(book)).join(',\n')}`]
  ])('may be %s', async (_, text) => {
    const source = await file(text)
    expect((await server.describe({ source, count: true }, context)).format).toBe('json')
    expect(titles(await server.page({ source, ...aPage() }, context))).toEqual(['Dune', 'emma', 'Ulysses', ''])
    const sort = { field: 'price', descending: true }
    expect(titles(await server.page({ source, ...aPage({ sort }) }, context))).toEqual(['', 'emma', 'Dune', 'Ulysses'])
  })

  it('that is too large to be converted is refused by operations that need that, and read as pages', async () => {
    const source = { ...(await file(`[${'{"a":1},\n'.repeat(1_000)}{}]`)), convertedMaxBytes: 5_000 }
    await expect(server.fieldStatistics({ source, field: 'a' }, context)).rejects.toMatchObject({
      code: 'ITEMS_TOO_LARGE'
    })
    expect((await server.page({ source, ...aPage({ offset: 995 }) }, context)).rows).toHaveLength(6)
  })

  it('may be CSV with quotes, line breaks in values and rows of several lengths', async () => {
    const source = await file('\ufefftitle,price\r\n"Dune, part ""one""",9\r\n"two\nlines",10,extra\r\nshort\r\n')
    const described = await server.describe({ source, count: true }, context)
    expect(described).toMatchObject({ format: 'csv', items: 3, unreadable: 0 })
    expect(described.columns.map(({ name }) => name)).toEqual(['title', 'price', 'column 3'])
    expect(titles(await server.page({ source, ...aPage() }, context))).toEqual([
      'Dune, part "one"',
      'two\nlines',
      'short'
    ])
    expect(await server.fieldStatistics({ source, field: 'price' }, context)).toMatchObject({
      filled: 2,
      numbers: { min: 9, max: 10, mean: 9.5 }
    })
  })

  it('of neither kind is refused with a hint what to do', async () => {
    const source = await file(Buffer.from([0x89, 0x50, 0, 0, 13, 10]))
    await expect(server.describe({ source, count: false }, context)).rejects.toMatchObject({ code: 'ITEMS_UNREADABLE' })
  })

  it('is read from any page on, with long cells cut and numbers as they are written', async () => {
    const many = Array.from(
      { length: 5_000 },
      (_, at) => `{"n":${at}.0,"long":"${'x'.repeat(300)}","big":12345678901234567890}\n`
    )
    const source = await file(many.join(''))
    for (const offset of [4_990, 17, 2_500]) {
      const { rows, nextOffset } = await server.page({ source, ...aPage({ offset, limit: 5 }) }, context)
      expect(rows.map(({ index, cells }) => [index, cells![0]!.text])).toEqual(
        Array.from({ length: 5 }, (_, at) => [offset + at, `${offset + at}.0`])
      )
      expect(rows[0]!.cells!.slice(1)).toEqual([
        { type: 'text', text: 'x'.repeat(200), isCut: true },
        { type: 'number', text: '12345678901234567890', isCut: false }
      ])
      expect(nextOffset).toBe(offset + 5)
    }
    const whole = await server.read({ source, index: 4_999 }, context)
    expect(whole).toMatchObject({ index: 4_999, isReadable: true, isCut: false })
    expect(JSON.parse(whole!.text)).toMatchObject({ n: 4_999 })
    expect(await server.read({ source, index: 5_000 }, context)).toBeNull()
  })
})

const HOSTILE = Buffer.concat([
  Buffer.from('\ufeff{"a":1}\n{"a":2,"a":3}\n\n  \nnot json\n[1,2]\n"text"\nnull\n{"a":"'),
  Buffer.from([0xff, 0xfe]),
  Buffer.from(
    `"}\n{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}\n{"__proto__":{"x":1},"a":9}\n{"a":"nul\\u0000"}\n{"a":"ha`
  )
])

describe('a hostile file', () => {
  it('gives its items, and says how many lines are invalid', async () => {
    const source = await file(HOSTILE)
    expect(await server.describe({ source, count: true }, context)).toMatchObject({
      items: 5,
      unreadable: 5,
      endsInside: true
    })
    expect(await server.fieldStatistics({ source, field: 'a' }, context)).toMatchObject({ items: 5, unreadable: 5 })
    const { rows } = await server.page({ source, ...aPage({ columns: ['a', '__proto__'] }) }, context)
    expect(rows.map(({ cells }) => cells !== null)).toEqual([
      ...[true, true, false, false, false, false, false, true, true, true, false]
    ])
  })

  it.skipIf(isCore)('with an item of 10 MB, one of 20 MB and thousands of fields can still be read', async () => {
    const long = (length: number) => `{"id":${length},"text":"${'x'.repeat(length)}"}\n`
    const fields = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`field ${at}`, at]))
    const source = await file(long(10_000_000) + long(20_000_000) + jsonLines([fields, { id: 3 }]))
    const described = await server.describe({ source, count: true }, context)
    expect(described).toMatchObject({ items: 3, unreadable: 1, hasMoreFields: true })
    expect(described.columns).toHaveLength(500)
    const { rows } = await server.page({ source, ...aPage({ columns: ['id'] }) }, context)
    expect(rows.map(({ cells }) => cells?.[0]?.text ?? null)).toEqual(['10000000', null, null, '3'])
    const sort = { field: 'id', descending: false }
    const sorted = await server.page({ source, ...aPage({ sort, columns: ['id'] }) }, context)
    expect(sorted.rows.map(({ index }) => index)).toEqual([3, 0, 2])
  })

  it.skipIf(isCore)('with an item that DuckDB cannot skip is never sorted, and read as pages', async () => {
    const source = await file(`{"id":1}\n{"text":"${'x'.repeat(40_000_000)}"}\n{"id":2}\n`)
    const sort = { field: 'id', descending: true }
    await expect(server.page({ source, ...aPage({ sort }) }, context)).rejects.toMatchObject({
      code: 'ITEMS_TOO_LARGE'
    })
    expect((await server.page({ source, ...aPage({ columns: ['id'] }) }, context)).rows).toHaveLength(3)
  })

  it('can have names that mean something in SQL', async () => {
    const name = `x" FROM read_text('/etc/passwd') --`
    const source = await file(jsonLines([{ [name]: "'; DROP TABLE x; --", '/': 1, 'a~b/c': 2, '': 3 }]))
    const filter = [{ field: name, operator: 'is', value: "'; DROP TABLE x; --" }] as ItemCondition[]
    const sort = { field: name, descending: false }
    for (const field of [name, '/', 'a~b/c', '']) {
      expect((await server.fieldStatistics({ source, field }, context)).filled).toBe(1)
      expect((await server.page({ source, ...aPage({ filter, sort, columns: [field] }) }, context)).rows).toHaveLength(
        1
      )
    }
    const targetPath = join(directory.path, 'names.parquet')
    const request = { source, format: 'parquet' as const, filter, targetPath, maxBytes: 1e9 }
    expect(await server.export(request, context)).toMatchObject({ items: 1 })
  })
})

describe('conditions', () => {
  const value = fc.oneof(
    fc.constantFrom(
      '',
      '5',
      '5.0',
      '-3',
      '1e2',
      'Abc',
      'abc',
      'ABCD',
      'é',
      ' 5',
      'inf',
      'nan',
      '\u{1F600}',
      '%',
      '_',
      '\0'
    ),
    fc.string({ unit: 'binary', maxLength: 4 })
  )
  const field = fc.constantFrom('a', 'b', 'é', 'a/b', '')
  const item = fc.dictionary(
    field,
    fc.oneof(
      value,
      fc.integer({ min: -9, max: 9 }),
      fc.boolean(),
      fc.constant(null),
      fc.constant([1]),
      fc.constant(5.5)
    ),
    { noNullPrototype: true }
  )
  const condition = fc.record({
    field,
    operator: fc.constantFrom<ItemCondition['operator']>(
      ...(['is', 'is not', 'contains', 'starts with', 'empty', 'not empty', 'greater', 'less'] as const)
    ),
    value: value.filter((text) => text.isWellFormed())
  })

  it.skipIf(isCore)('select the same items with DuckDB and without', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 12 }),
        fc.array(condition, { minLength: 1, maxLength: 2 }),
        async (items, filter) => {
          // A lone surrogate is not valid Unicode.
          fc.pre(JSON.stringify(items).isWellFormed() && !JSON.stringify([items, filter]).includes('\\ud'))
          const source = await file(jsonLines(items))
          const indexes = (page: { rows: { index: number }[] }) => page.rows.map(({ index }) => index)
          const one = await plainServer.page({ source, ...aPage({ filter, columns: ['a'] }) }, context)
          const other = await pageWithDuckdb(
            { ...source, endsInside: false },
            { ...aPage({ filter }), columns: ['a'] },
            signal
          )
          expect(indexes(other)).toEqual(indexes(one))
        }
      ),
      { numRuns: 60, seed: 7 }
    )
  })
})

describe('statistics of a field', () => {
  it('count, measure and list its values', async () => {
    const items = Array.from({ length: 1_000 }, (_, at) => ({
      kind: at % 4 === 0 ? 'rare' : 'common',
      price: at,
      ...(at < 10 && { note: 'x' })
    }))
    const source = await file(jsonLines(items))
    const kind = await server.fieldStatistics({ source, field: 'kind' }, context)
    expect(kind).toMatchObject({
      items: 1_000,
      filled: 1_000,
      numbers: null,
      length: { min: 4, max: 6, mean: 5.5 },
      top: [
        { value: 'common', count: 750 },
        { value: 'rare', count: 250 }
      ]
    })
    expect(await server.fieldStatistics({ source, field: 'price' }, context)).toMatchObject({
      numbers: { count: 1_000, min: 0, max: 999, mean: 499.5 }
    })
    expect(await server.fieldStatistics({ source, field: 'note' }, context)).toMatchObject({ filled: 10, distinct: 1 })
    expect(await server.fieldStatistics({ source, field: 'none' }, context)).toMatchObject({ filled: 0, top: [] })
  })
})

describe('the difference to the previous run', () => {
  const before = [
    { id: 1, price: 5, old: 'x' },
    { id: 2, price: 6 },
    { id: 3, price: 7 },
    { id: 3, price: 7 }
  ]
  const after = [{ id: 1, price: 5.5, fresh: true }, { id: 2, price: 6 }, { id: 4, price: 1 }, { price: 2 }]

  it('counts items by a key, and fields by how often they are filled', async () => {
    const sources = { before: await file(jsonLines(before)), after: await file(jsonLines(after)) }
    expect(await server.diff({ ...sources, key: 'id' }, context)).toEqual({
      before: { items: 4, unreadable: 0 },
      after: { items: 4, unreadable: 0 },
      fields: [
        { name: 'id', before: 4, after: 3 },
        { name: 'price', before: 4, after: 4 },
        { name: 'fresh', before: null, after: 1 },
        { name: 'old', before: 1, after: null }
      ],
      added: 1,
      removed: 1,
      changed: 1,
      same: 1,
      repeatedKeys: 2,
      examples: { added: ['4'], removed: ['3'], changed: ['1'] }
    })
  })

  it('compares whole items without a key', async () => {
    const sources = { before: await file(jsonLines(before)), after: await file(jsonLines(after)) }
    const diff = await server.diff({ ...sources, key: null }, context)
    expect(diff).toMatchObject({ added: 3, removed: 3, changed: null, same: 1, repeatedKeys: null })
    expect(diff.examples.removed).toHaveLength(2)
  })
})

describe('an export', () => {
  const run = async (
    source: ItemsSource,
    format: 'jsonl' | 'json' | 'csv' | 'parquet',
    filter: ItemCondition[] = []
  ) => {
    const targetPath = join(directory.path, `out-${++made}.${format}`)
    const written = await server.export({ source, format, filter, targetPath, maxBytes: 1e9 }, context)
    return { ...written, path: targetPath }
  }

  it('contains the items unchanged, in each format', async () => {
    const exact = '{"n":1.0,"t":"=1+1, \\"q\\"","x":[1,2]}\n{"n":12345678901234567890,"u":"é"}\nbroken\n'
    const source = await file(exact)
    const text = async (format: 'jsonl' | 'json' | 'csv') => readFile((await run(source, format)).path, 'utf8')
    expect(await text('jsonl')).toBe(exact.replace('broken\n', ''))
    expect(JSON.parse(await text('json'))).toHaveLength(2)
    expect(await text('csv')).toBe('n,t,x,u\r\n1.0,"=1+1, ""q""","[1,2]",\r\n12345678901234567890,,,é\r\n')
  })

  it('as Parquet keeps numbers as numbers', async () => {
    const { path, items } = await run(await file(jsonLines(BOOKS)), 'parquet', [
      { field: 'stock', operator: 'not empty', value: '' }
    ])
    expect(items).toBe(3)
    using database = await openLockedDuckdb([path], join(directory.path, 'spill'), signal)
    expect(await database.query(`SELECT title, price, author FROM read_parquet(${quoteText(path)})`, [])).toEqual([
      ['Dune', 9.5, null],
      ['emma', 12, null],
      ['', 100, '{"name":"X"}']
    ])
  })

  it('as Parquet has a type only if all values have it, and each name once', async () => {
    const items = [{ yes: true, mixed: 1, none: null, Price: 1 }, { yes: null, mixed: 'x', price: 2 }, { big: 2 ** 60 }]
    const { path } = await run(await file(jsonLines(items)), 'parquet')
    using database = await openLockedDuckdb([path], join(directory.path, 'spill'), signal)
    const described = await database.query(`DESCRIBE SELECT * FROM read_parquet(${quoteText(path)})`, [])
    expect(described.map(([name, type]) => [name, type])).toEqual([
      ['Price', 'DOUBLE'],
      ['big', 'DOUBLE'],
      ['mixed', 'VARCHAR'],
      ['none', 'VARCHAR'],
      ['price_2', 'DOUBLE'],
      ['yes', 'BOOLEAN']
    ])
  })

  it('larger than the limit is refused and leaves no file', async () => {
    const targetPath = join(directory.path, 'large.jsonl')
    const request = {
      source: await file(jsonLines(BOOKS)),
      format: 'jsonl' as const,
      filter: [],
      targetPath,
      maxBytes: 50
    }
    await expect(server.export(request, context)).rejects.toMatchObject({ code: 'ITEMS_TOO_LARGE' })
    await expect(readFile(targetPath)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('without DuckDB', () => {
  it('pages, filters and exports work; other operations say what they need', async () => {
    const source = await file(jsonLines(BOOKS))
    expect(await plainServer.describe({ source, count: true }, context)).toMatchObject({
      items: 4,
      engine: 'plain',
      engineProblem: 'not here'
    })
    const filter = [{ field: 'price', operator: 'greater', value: '10' }] as ItemCondition[]
    expect(titles(await plainServer.page({ source, ...aPage({ filter }) }, context))).toEqual(['emma', ''])
    const code = 'ITEMS_NEED_DUCKDB'
    const sort = { field: 'price', descending: true }
    await expect(plainServer.page({ source, ...aPage({ sort }) }, context)).rejects.toMatchObject({ code })
    await expect(plainServer.fieldStatistics({ source, field: 'price' }, context)).rejects.toMatchObject({ code })
    await expect(plainServer.diff({ before: source, after: source, key: null }, context)).rejects.toMatchObject({
      code
    })
  })
})

describe('the locked database', () => {
  it('reaches the files of its request and nothing else, and cannot be unlocked', async () => {
    const { path } = await file(jsonLines(BOOKS))
    const other = await file(jsonLines(BOOKS))
    using database = await openLockedDuckdb([path], join(directory.path, 'spill'), signal)
    const reads = (target: string) => database.query(`SELECT * FROM read_text(${quoteText(target)})`, [])
    expect(await reads(path)).toHaveLength(1)
    const refused = [
      () => reads(other.path),
      () => reads('/etc/passwd'),
      () => reads(join(directory.path, 'spill', '..', `run-${made}.jl`)),
      () => database.query(`SELECT * FROM glob(${quoteText(join(directory.path, '*'))})`, []),
      () => database.query(`COPY (SELECT 1) TO ${quoteText(join(directory.path, 'no.csv'))}`, []),
      () => database.query(`ATTACH ${quoteText(join(directory.path, 'no.db'))}`, []),
      () => database.query(`EXPORT DATABASE ${quoteText(join(directory.path, 'no'))}`, []),
      () => database.query('INSTALL httpfs', []),
      () => database.query('LOAD httpfs', []),
      () => database.query("SELECT * FROM read_json('http://127.0.0.1:1/x')", []),
      () => database.query('SET enable_external_access = true', []),
      () => database.query("SET allowed_paths = ['/etc/passwd']", []),
      () => database.query("SET memory_limit = '8GB'", []),
      () => database.query('SET lock_configuration = false', []),
      () => database.query("SELECT getenv('HOME')", [])
    ]
    for (const attempt of refused)
      await expect(attempt(), String(attempt)).rejects.toMatchObject({ code: 'ITEMS_FAILED' })
  })
})

describe('quoting', () => {
  it('makes any name one name, any text one text, and any field one part of a pointer', async () => {
    using database = await openLockedDuckdb([], join(directory.path, 'spill'), signal)
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), async (drawn) => {
        const text = drawn.toWellFormed().replaceAll('\0', 'x')
        const [row = []] = await database.query(
          `SELECT ${quoteText(text)} AS ${quoteName(text)}, column_name FROM (DESCRIBE SELECT 1 AS ${quoteName(text)})`,
          []
        )
        expect(row).toEqual([text, text])
        const [[value] = []] = await database.query('SELECT $1::JSON ->> $2', [
          JSON.stringify({ [text]: 'found' }),
          pointerTo(text)
        ])
        expect(value).toBe('found')
      }),
      { numRuns: 100 }
    )
  })
})

it.each(['jl', 'csv'])('a call that was cancelled before it started ends alone (%s)', async (ending) => {
  const content = ending === 'jl' ? jsonLines(BOOKS) : 'title,price\nDune,9\n'
  const source = await anItemsFile(directory.path, content, `given-up.${ending}`)
  const given = { ...context, signal: AbortSignal.abort() }
  await expect(plainServer.countFilled({ source }, given)).rejects.toThrow('aborted')
})
