import { existsSync } from 'node:fs'
import { diffWithDuckdb, DIFF_FIELDS_MAX } from './duckdb/diff.ts'
import { type LinesFile, pageWithDuckdb, statisticsWithDuckdb } from './duckdb/duckdb-reader.ts'
import { exportParquet } from './duckdb/export-parquet.ts'
import { isDuckdbInstalled, loadDuckdb } from './duckdb/locked-duckdb.ts'
import type { ItemsCall, ItemsCalls, ItemsSource } from './messages.ts'
import { inferColumns } from './reading/columns.ts'
import { needsDuckdb, PlainReader, shownColumns } from './reading/plain-reader.ts'
import { type Head, readHead, readItems } from './reading/read-items.ts'
import { convertToLines, writeItems } from './reading/write-items.ts'
import type { FilledFields } from '../../model/records.ts'
import { parseItem } from './reading/raw-item.ts'

type Context = { signal: AbortSignal; onProgress: (share: number) => void }

type Serve = {
  [Call in ItemsCall]: (input: ItemsCalls[Call]['input'], context: Context) => Promise<ItemsCalls[Call]['result']>
}

/** Conversions are never aborted, because other requests may wait for the same one. */
const NEVER = new AbortController().signal
/** Smaller files are filtered without DuckDB, because starting it would cost more than it saves. */
const FILTERED_PLAINLY_BYTES = 4 * 1024 * 1024

export function createItemsServer(mayLoad: boolean, whyNot: string | null): Serve {
  const plain = new PlainReader()
  if (mayLoad && !isDuckdbInstalled()) {
    mayLoad = false
    whyNot = 'DuckDB is not installed, or has no binary for this machine'
  }
  const converting = new Map<string, Promise<void>>()
  let problem: Promise<string | null> | null = null
  const duckdbProblem = (): Promise<string | null> => {
    problem ??= mayLoad
      ? loadDuckdb().then(
          () => null,
          (error: unknown) => `DuckDB cannot be loaded on this machine (${(error as Error).message.split('\n', 1)[0]})`
        )
      : Promise.resolve(whyNot)
    return problem
  }
  const requireDuckdb = async (what: string): Promise<void> => {
    if ((await duckdbProblem()) !== null) throw needsDuckdb(what)
  }

  /** DuckDB needs JSON lines without a byte order mark, at a path without glob characters. Converts everything else. */
  const asLines = async (source: ItemsSource, head: Head, signal: AbortSignal): Promise<LinesFile> => {
    const { endsInside } = await plain.describe(source, false, signal)
    const fits = head.format === 'jsonl' && head.startOffset === 0 && !/[*?[\]]/.test(source.path)
    if (fits) return { ...source, endsInside }
    if (!existsSync(source.convertedPath)) {
      const conversion = converting.get(source.convertedPath) ?? convertToLines(source, head, NEVER)
      converting.set(source.convertedPath, conversion)
      await conversion.finally(() => converting.delete(source.convertedPath))
    }
    return { ...source, path: source.convertedPath, endsInside }
  }

  return {
    async describe({ source, count }, { signal }) {
      // Showing a table does not need DuckDB, and loading DuckDB takes longer than reading the first page.
      const engineProblem = count ? await duckdbProblem() : mayLoad ? null : whyNot
      const described = await plain.describe(source, count, signal)
      return { ...described, engine: engineProblem === null ? 'duckdb' : 'plain', engineProblem }
    },
    async page({ source, ...input }, { signal }) {
      const isPlain = input.sort === null && (input.filter.length === 0 || source.sizeBytes <= FILTERED_PLAINLY_BYTES)
      if (isPlain || (input.sort === null && (await duckdbProblem()) !== null)) return plain.page(source, input, signal)
      await requireDuckdb('Sorting')
      const head = await readHead(source)
      const columns = input.columns ?? (await shownColumns(source, head, signal))
      return pageWithDuckdb(await asLines(source, head, signal), { ...input, columns }, signal)
    },
    read: ({ source, index }, { signal }) => plain.read(source, index, signal),
    async fieldStatistics({ source, field }, { signal }) {
      await requireDuckdb('Statistics of a field')
      return statisticsWithDuckdb(await asLines(source, await readHead(source), signal), field, signal)
    },
    countFilled: ({ source }, { signal }) => countFilled(source, signal),
    async diff({ before, after, key }, { signal }) {
      await requireDuckdb('Comparing two runs')
      const heads = { before: await readHead(before), after: await readHead(after) }
      const names = {
        before: (await inferColumns(before, heads.before, signal)).columns.map(({ name }) => name),
        after: (await inferColumns(after, heads.after, signal)).columns.map(({ name }) => name)
      }
      const all = [...new Set([...names.after, ...names.before])].slice(0, DIFF_FIELDS_MAX)
      const fields = all.map((name) => ({
        name,
        isBefore: names.before.includes(name),
        isAfter: names.after.includes(name)
      }))
      const files = {
        before: await asLines(before, heads.before, signal),
        after: await asLines(after, heads.after, signal)
      }
      return diffWithDuckdb(files, { fields, key }, signal)
    },
    async export({ source, format, filter, targetPath, maxBytes }, { signal, onProgress }) {
      const head = await readHead(source)
      const target = { filter, targetPath, maxBytes }
      if (format !== 'parquet') return writeItems(source, head, { format, ...target, onProgress }, signal)
      await requireDuckdb('Parquet')
      return exportParquet(await asLines(source, head, signal), target, signal)
    }
  }
}

const FIELDS_COUNTED = 5_000
const FIELDS_KEPT = 100
const NAME_MAX_CHARACTERS = 200

/** Counts without DuckDB, because parsing each item once costs no more CPU than a query, and most files are small. */
export async function countFilled(source: ItemsSource, signal: AbortSignal): Promise<FilledFields> {
  const counts = new Map<string, number>()
  let items = 0
  let hasMoreFields = false
  for await (const batch of readItems(source, await readHead(source), signal)) {
    for (const raw of batch.items) {
      const item = parseItem(raw)
      if (item === null) continue
      items += 1
      for (const name of Object.keys(item)) {
        const value = item[name]
        const count = counts.get(name)
        if (count === undefined && (counts.size >= FIELDS_COUNTED || name.length > NAME_MAX_CHARACTERS)) {
          hasMoreFields = true
        } else counts.set(name, (count ?? 0) + (value === null || value === '' ? 0 : 1))
      }
    }
  }
  const fields = [...counts].sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1))
  return {
    items,
    fields: fields.slice(0, FIELDS_KEPT),
    hasMoreFields: hasMoreFields || fields.length > FIELDS_KEPT
  }
}
