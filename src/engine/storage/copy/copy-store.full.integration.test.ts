import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import DatabaseConstructor from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../runtime/postgres-address.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { until } from '../../testing/until.ts'
import { openPostgresStoreHere } from '../postgres/postgres-store.ts'
import type { Connection } from '../postgres/connection.ts'
import { TYPES } from '../postgres/given-rows.ts'
import { connectTo } from '../postgres/postgres-driver.ts'
import { type PostgresServer, startPostgres, whyNoPostgres } from '../postgres/testing/start-postgres.ts'
import { openSqliteStoreHere } from '../sqlite/sqlite-store.ts'
import { copyStore, type CopyOptions, type CopyProgress, type StorePlace } from './copy-store.ts'
import { sharedTables } from './sqlite-side.ts'
import { fillStore, MORE_ROWS } from './testing/fill-store.ts'

const common = { clock: systemClock, logger: silentLogger }
const KILLED = fileURLToPath(new URL('testing/copy-until-killed.ts', import.meta.url))

describe.skipIf(whyNoPostgres() !== null)('copying a store', () => {
  let server: PostgresServer | null = null
  let url: string
  let filled: Awaited<ReturnType<typeof makeTemporaryDirectory>>
  let namespaces = 0
  let asking: Connection
  beforeAll(async () => {
    url = process.env['DATABASE_URL'] ?? (server = await startPostgres()).url
    asking = connectTo(parsePostgresAddress(`${url}?namespace=asking_${process.pid}`))
    filled = await makeTemporaryDirectory()
    const store = await openSqliteStoreHere({ ...common, path: join(filled.path, 'scrapdeck.sqlite') })
    await fillStore(store)
    await store.close()
    const database = new DatabaseConstructor(join(filled.path, 'scrapdeck.sqlite'))
    database.exec(MORE_ROWS)
    database.close()
    const emptyTables = tablesOf(filled.path).filter(([, rows]) => rows.length === 0)
    expect(emptyTables).toEqual([])
  })
  afterAll(async () => {
    asking.end()
    await filled.remove()
    await server?.stop()
  })

  function aNamespace(): PostgresAddress {
    namespaces += 1
    const address = parsePostgresAddress(`${url}?namespace=copied_${process.pid}_${namespaces}`)
    onTestFinished(() => {
      ask([
        `DROP SCHEMA IF EXISTS "${address.schema}-copying" CASCADE`,
        `DROP SCHEMA IF EXISTS "${address.schema}" CASCADE`
      ])
    })
    return address
  }
  async function aDirectory(): Promise<string> {
    const directory = await makeTemporaryDirectory()
    onTestFinished(directory.remove)
    return directory.path
  }
  const copyNow = (from: StorePlace, to: StorePlace, over: Partial<CopyOptions> = {}) =>
    copyStore({ from, to, logger: silentLogger, report: () => {}, ...over })
  /** Retries, because the server notices the end of a connection with a delay. */
  async function whenFree<T>(work: () => Promise<T>): Promise<T> {
    const tried = () =>
      work().catch((error: unknown) => {
        if (isScrapdeckError(error, 'DATABASE_IN_USE')) return null
        throw error
      })
    return (await until('the namespace free', tried, (result) => result !== null, 10_000))!
  }
  const copyKilled = (...how: Parameters<typeof copyUntilKilled>) => whenFree(() => copyUntilKilled(...how))
  const copy = (...how: Parameters<typeof copyNow>) => whenFree(async () => copyNow(...how))

  test('from SQLite to PostgreSQL to SQLite leaves every row of every table unchanged', async () => {
    const [postgres, back] = [aNamespace(), await aDirectory()]
    const there = await copy({ directory: filled.path }, { postgres }, { limits: { rows: 25, bytes: 5_000 } })
    const andBack = await copy({ postgres }, { directory: back }, { limits: { rows: 25, bytes: 5_000 } })
    expect(andBack.tables).toEqual(there.tables)
    expect(there).toMatchObject({ resumed: false, replacedTexts: 0 })
    expect(there.tables.find(({ table }) => table === 'jobs')!.rows).toBeGreaterThan(300)
    expect(tablesOf(back)).toEqual(tablesOf(filled.path))
  })

  test('finds the same tables and columns in both databases', async () => {
    const postgres = aNamespace()
    await copy({ directory: filled.path }, { postgres })
    const [{ schema }, own] = [postgres, ['schema_version', 'last_forgotten_change', 'engine_common', 'engine_lease']]
    const there = asking.send({
      text: `SELECT relname || '.' || attname || ' ' || format_type(atttypid, NULL)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = '"${schema}"'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
          AND attgenerated = '' AND relname NOT IN (${[...own, 'engine_terms', 'engines'].map((name) => `'${name}'`)})`,
      values: []
    })
    const here = sharedTables().flatMap(({ name, columns }) =>
      columns.map((column) => `${name}.${column.name} ${TYPES[column.kind]}`)
    )
    expect(there.result().rows.flat().sort()).toEqual(here.sort())
  })

  test('reads a namespace in use as it was at one moment, whatever is written meanwhile', async () => {
    const [postgres, back] = [aNamespace(), await aDirectory()]
    await copy({ directory: filled.path }, { postgres })
    const store = await whenFree(() => openPostgresStoreHere({ ...common, address: postgres }))
    const before = await store.countByState()
    let batches = 0
    const report = () => {
      if (batches++ % 3 === 0) ask([`UPDATE "${postgres.schema}".jobs SET priority = priority + 1`])
    }
    copyStore({
      from: { postgres, whileInUse: true },
      to: { directory: back },
      logger: silentLogger,
      report,
      limits: { rows: 25, bytes: 5_000 }
    })
    await store.close()
    expect(batches).toBeGreaterThan(10)
    expect(jobsOf(back)).toEqual(jobsOf(filled.path))
    const restored = await openSqliteStoreHere({ ...common, path: join(back, 'scrapdeck.sqlite') })
    expect(await restored.countByState()).toEqual(before)
    await restored.close()
  })

  test('continues the change log, the queue and the deliveries of the store in both copies', async () => {
    const [postgres, back] = [aNamespace(), await aDirectory()]
    await copy({ directory: filled.path }, { postgres })
    await copy({ postgres }, { directory: back })
    const stores = [
      await openSqliteStoreHere({ ...common, path: join(back, 'scrapdeck.sqlite') }),
      await whenFree(() => openPostgresStoreHere({ ...common, address: postgres }))
    ]
    const [one, other] = await Promise.all(
      stores.map(async (store) => {
        const cursor = await store.changeCursor()
        await store.putSetting('paused', true)
        await store.recordEvents([{ event: 'job.ended', project: null, atMs: 5, data: {} }])
        const lanes = await store.listLanes()
        const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit: 10 })))
        const [webhook] = await store.listWebhooks()
        const deliveries = await store.listDeliveries(webhook!.id, { before: null, limit: 1 })
        return { cursor, after: await store.changeCursor(), lanes, heads, newest: deliveries[0]!.id }
      })
    )
    expect(one).toEqual(other)
    for (const store of stores) await store.close()
  })

  test.each(['to PostgreSQL', 'to SQLite'] as const)(
    'a copy %s that was killed halfway does not take effect, and can be continued',
    async (direction) => {
      const [postgres, back] = [aNamespace(), await aDirectory()]
      let [from, to]: [StorePlace, StorePlace] = [{ directory: filled.path }, { postgres }]
      if (direction === 'to SQLite') {
        await copy(from, to)
        ;[from, to] = [to, { directory: back }]
      }
      const reached = await copyKilled(from, to, ({ table, rows }) => table === 'jobs' && rows >= 100)
      expect(reached.step).toBe('copying')
      if (direction === 'to SQLite') expect(existsSync(join(back, 'scrapdeck.sqlite'))).toBe(false)
      else expect(ask([`SELECT to_regnamespace('${postgres.schema}') IS NULL`])).toEqual([[1]])
      const seen: CopyProgress[] = []
      const done = await copy(from, to, { report: (progress) => void seen.push(progress) })
      expect(done.resumed).toBe(true)
      // Existing rows are not written again. The first batch of jobs starts after them.
      const written = done.tables.find(({ table }) => table === 'jobs')!
      expect(seen.find(({ table, step }) => table === 'jobs' && step === 'copying')).toMatchObject({
        rows: written.rows
      })
      if (direction === 'to SQLite') expect(tablesOf(back)).toEqual(tablesOf(filled.path))
      else {
        await copy({ postgres }, { directory: back })
        expect(tablesOf(back)).toEqual(tablesOf(filled.path))
      }
    }
  )

  test('does not continue an unfinished copy of another store, unless it starts again', async () => {
    const [postgres, other] = [aNamespace(), await aDirectory()]
    const store = await openSqliteStoreHere({ ...common, path: join(other, 'scrapdeck.sqlite') })
    await store.close()
    await copyKilled({ directory: filled.path }, { postgres }, ({ table }) => table === 'jobs')
    await expect(copy({ directory: other }, { postgres })).rejects.toThrow(/unfinished copy of .*--restart/)
    expect((await copy({ directory: other }, { postgres }, { restart: true })).resumed).toBe(false)
  })

  test('detects by comparison that a source has changed since the interruption', async () => {
    const [postgres, changing] = [aNamespace(), await aDirectory()]
    await copy({ directory: filled.path }, { postgres })
    await copy({ postgres }, { directory: changing })
    const target = aNamespace()
    await copyKilled(
      { directory: changing },
      { postgres: target },
      ({ table, rows }) => table === 'jobs' && rows >= 100
    )
    const database = new DatabaseConstructor(join(changing, 'scrapdeck.sqlite'))
    database.exec("UPDATE jobs SET spider = 'another' WHERE id = (SELECT min(id) FROM jobs)")
    database.close()
    await expect(copy({ directory: changing }, { postgres: target })).rejects.toMatchObject({ code: 'COPY_DIFFERS' })
    const again = await copy({ directory: changing }, { postgres: target }, { restart: true })
    expect(again.tables.length).toBeGreaterThan(40)
  })

  test('is refused while an engine runs on either side, and if the target has a store', async () => {
    const [postgres, empty] = [aNamespace(), await aDirectory()]
    const running = await openPostgresStoreHere({ ...common, address: postgres })
    const there = [{ directory: filled.path }, { postgres }] as const
    const back = [{ postgres }, { directory: empty }] as const
    for (const way of [there, back] as [StorePlace, StorePlace][]) {
      expect(() => copyNow(...way)).toThrow(expect.objectContaining({ code: 'DATABASE_IN_USE' }))
    }
    await running.close()
    await expect(copy(...there)).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY' })
    await expect(copy({ postgres }, { directory: filled.path })).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY' })
    const open = await openSqliteStoreHere({ ...common, path: join(filled.path, 'scrapdeck.sqlite') })
    await expect(copy({ directory: filled.path }, { postgres: aNamespace() })).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_IN_USE'
    })
    await open.close()
  })

  test('is refused without a source, between two stores of the same kind, and from another version', async () => {
    const [postgres, empty, older] = [aNamespace(), await aDirectory(), await aDirectory()]
    await expect(copy({ directory: empty }, { postgres })).rejects.toThrow('has no store')
    await expect(copy({ postgres }, { directory: empty })).rejects.toThrow('has no store')
    await expect(copy({ directory: filled.path }, { directory: empty })).rejects.toThrow('same kind')
    const database = new DatabaseConstructor(join(older, 'scrapdeck.sqlite'))
    database.pragma('user_version = 3')
    database.close()
    await expect(copy({ directory: older }, { postgres })).rejects.toMatchObject({ code: 'DATA_TOO_OLD' })
  })

  test('counts texts that PostgreSQL cannot store', async () => {
    const [postgres, source] = [aNamespace(), await aDirectory()]
    const store = await openSqliteStoreHere({ ...common, path: join(source, 'scrapdeck.sqlite') })
    await store.close()
    const database = new DatabaseConstructor(join(source, 'scrapdeck.sqlite'))
    database.prepare('INSERT INTO project_settings VALUES (?, ?)').run('nul', '{"a":"\0"}')
    database.close()
    expect((await copy({ directory: source }, { postgres })).replacedTexts).toBe(1)
  })

  const ask = (texts: string[]): unknown[][] =>
    texts.map((text) => asking.send({ text, values: [] }).result().rows).at(-1)!
})

const jobsOf = (directory: string) => tablesOf(directory).find(([table]) => table === 'jobs')

function tablesOf(directory: string): [table: string, rows: unknown[]][] {
  const database = new DatabaseConstructor(join(directory, 'scrapdeck.sqlite'), { readonly: true })
  const names = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name")
    .pluck()
    .all() as string[]
  const tables = names.map((name): [string, unknown[]] => [
    name,
    database.prepare(`SELECT * FROM ${name} ${name === 'settings' ? "WHERE key <> 'store.opened'" : ''}`).all()
  ])
  const counters = database.prepare('SELECT name, seq FROM sqlite_sequence ORDER BY name').all()
  database.close()
  return [...tables, ['sqlite_sequence', counters]]
}

async function copyUntilKilled(
  from: StorePlace,
  to: StorePlace,
  isReached: (progress: CopyProgress) => boolean
): Promise<CopyProgress> {
  const child = spawn(process.execPath, [KILLED, JSON.stringify([from, to])], { stdio: ['ignore', 'pipe', 'pipe'] })
  let problem = ''
  child.stderr.on('data', (text: Buffer) => {
    problem += text.toString()
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_code, signal) => resolve(signal)))
  let last: CopyProgress | null = null
  for await (const line of createInterface({ input: child.stdout })) {
    last = JSON.parse(line) as CopyProgress
    if (isReached(last)) child.kill('SIGKILL')
  }
  const signal = await ended
  if (problem.includes('DATABASE_IN_USE')) throw new ScrapdeckError('DATABASE_IN_USE', problem)
  expect([signal, problem]).toEqual(['SIGKILL', ''])
  return last!
}
