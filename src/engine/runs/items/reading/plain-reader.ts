import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { DescribedFile, ItemsSource, PageInput, WholeItem } from '../messages.ts'
import type { ItemsPage } from '../../../../shared/contract/index.ts'
import { COLUMNS_SHOWN, WHOLE_ITEM_MAX_CHARACTERS } from './bounds.ts'
import { inferColumns, rowOf } from './columns.ts'
import { matches } from './filter.ts'
import { parseItem, type RawItem } from './raw-item.ts'
import { type Head, type Place, readHead, readItems, readRange } from './read-items.ts'

const STEP = 1_000
const FILES_REMEMBERED = 8
/** The maximum size of a file whose items are counted without a request for the count. */
const COUNTED_BYTES = 8 * 1024 * 1024
export const PAGE_MAX_BYTES = 4_000_000

type Described = Omit<DescribedFile, 'engine' | 'engineProblem'>

export class PlainReader {
  /** Known offsets of items per file, least recently used first. */
  readonly #places = new Map<string, Place[]>()

  async describe(source: ItemsSource, count: boolean, signal: AbortSignal): Promise<Described> {
    const head = await readHead(source)
    const { columns, hasMoreFields } = await inferColumns(source, head, signal)
    const isCounted = count || source.sizeBytes <= COUNTED_BYTES
    const counted = isCounted
      ? await this.#count(source, head, signal)
      : { items: null, unreadable: null, endsInside: await endsInsideItem(source, head) }
    return { format: head.format, columns, hasMoreFields, ...counted }
  }

  async #count(source: ItemsSource, head: Head, signal: AbortSignal) {
    let items = 0
    let unreadable = 0
    let lastIsItem = true
    for await (const batch of readItems(source, head, signal)) {
      this.#remember(source, head, batch.items)
      for (const raw of batch.items) {
        lastIsItem = parseItem(raw) !== null
        if (lastIsItem) items += 1
        else unreadable += 1
      }
    }
    const endsInside = !lastIsItem && (head.format === 'csv' || (await endsInsideItem(source, head)))
    return { items, unreadable: endsInside ? unreadable - 1 : unreadable, endsInside }
  }

  async page(source: ItemsSource, input: PageInput, signal: AbortSignal): Promise<ItemsPage> {
    if (input.sort !== null) throw needsDuckdb('Sorting')
    const head = await readHead(source)
    const columns = input.columns ?? (await shownColumns(source, head, signal))
    const page = createPage(input, columns)
    const isFiltered = input.filter.length > 0
    const from = isFiltered ? undefined : this.#placeBefore(source, head, input.offset)
    let skipped = from?.index ?? 0
    for await (const { items } of readItems(source, head, signal, from)) {
      this.#remember(source, head, items)
      for (const raw of items) {
        if (isFiltered) {
          const item = parseItem(raw)
          if (item === null || !matches(item, input.filter)) continue
        }
        if (skipped < input.offset) skipped += 1
        else if (!page.add(raw)) return page.done()
      }
    }
    return page.done()
  }

  async read(source: ItemsSource, index: number, signal: AbortSignal): Promise<WholeItem | null> {
    const head = await readHead(source)
    const from = this.#placeBefore(source, head, index)
    for await (const { items } of readItems(source, head, signal, from)) {
      this.#remember(source, head, items)
      for (const raw of items) if (raw.index === index) return wholeItemOf(raw)
    }
    return null
  }

  #placeBefore(source: ItemsSource, head: Head, index: number): Place | undefined {
    return this.#places.get(keyOf(source, head))?.findLast((place) => place.index <= index)
  }

  #remember(source: ItemsSource, head: Head, items: RawItem[]): void {
    if (head.format !== 'jsonl') return
    const key = keyOf(source, head)
    const places = this.#places.get(key) ?? []
    for (const { index, endOffset } of items) {
      if ((index + 1) % STEP === 0 && index + 1 > (places.at(-1)?.index ?? 0)) {
        places.push({ index: index + 1, offset: endOffset })
      }
    }
    this.#places.delete(key)
    this.#places.set(key, places)
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= FILES_REMEMBERED) break
      this.#places.delete(oldest)
    }
  }
}

/** Does not depend on the size, because the offsets stay valid when a file grows. */
const keyOf = (source: ItemsSource, head: Head): string => `${source.path} ${source.fileId} ${head.startOffset}`

export async function shownColumns(source: ItemsSource, head: Head, signal: AbortSignal): Promise<string[]> {
  const { columns } = await inferColumns(source, head, signal)
  return columns.slice(0, COLUMNS_SHOWN).map(({ name }) => name)
}

export function createPage(input: PageInput, columns: string[]) {
  const rows: ItemsPage['rows'] = []
  let bytes = 0
  let hasMore = false
  return {
    add(raw: RawItem): boolean {
      if (rows.length >= input.limit || bytes > PAGE_MAX_BYTES) {
        hasMore = true
        return false
      }
      const row = rowOf(raw, columns)
      rows.push(row)
      for (const cell of row.cells ?? []) bytes += 60 + 3 * (cell?.text.length ?? 0)
      return true
    },
    done: (): ItemsPage => ({ columns, rows, nextOffset: hasMore ? input.offset + rows.length : null })
  }
}

function wholeItemOf(raw: RawItem): WholeItem {
  const item = parseItem(raw, true)
  const whole = item === null ? (raw.bytes?.toString('utf8') ?? '') : indented(item, raw)
  const isCut = whole.length > WHOLE_ITEM_MAX_CHARACTERS || raw.bytes === null
  return { index: raw.index, text: whole.slice(0, WHOLE_ITEM_MAX_CHARACTERS), isCut, isReadable: item !== null }
}

function indented(item: object, raw: RawItem): string {
  try {
    return JSON.stringify(item, null, 2)
  } catch {
    // The item is nested too deeply for the stack. The text in the file is returned instead.
    return raw.bytes!.toString('utf8')
  }
}

/** Whether the file's last line is incomplete, because it is being written or its writer was killed. */
async function endsInsideItem(source: ItemsSource, { format, startOffset }: Head): Promise<boolean> {
  if (source.sizeBytes <= startOffset || format === 'csv') return false
  const length = Math.min(64 * 1024, source.sizeBytes)
  const tail = await readRange(source.path, source.sizeBytes - length, length)
  if (format === 'json') return !tail.toString('latin1').trimEnd().endsWith(']')
  if (tail.at(-1) === 0x0a) return false
  const start = tail.lastIndexOf(0x0a)
  const isWholeLine = start >= 0 || length === source.sizeBytes
  return !isWholeLine || parseItem({ bytes: tail.subarray(start + 1) }) === null
}

export function needsDuckdb(what: string): ScrapdeckError {
  return new ScrapdeckError('ITEMS_NEED_DUCKDB', sentence('runs.needs_duckdb', { what }))
}
