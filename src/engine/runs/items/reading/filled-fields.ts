import type { FilledFields } from '../../../model/records.ts'
import type { ItemsSource } from '../messages.ts'
import { parseItem } from './raw-item.ts'
import { readHead, readItems } from './read-items.ts'

/** Items that name fields by their content have any number of them; this many are counted. */
const FIELDS_COUNTED = 5_000
/** The most frequent of those are returned. */
const FIELDS_KEPT = 100
const NAME_MAX_CHARACTERS = 200

/**
 * In how many items each field is filled: neither absent nor null nor an empty text. For CSV and JSON too, and without
 * DuckDB: parsing each item once takes no more processor time than its query, and most files are small.
 */
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
