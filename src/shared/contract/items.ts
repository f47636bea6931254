import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { ITEMS_BOUNDS } from './fixed-values.ts'
import { JobId, NodeId } from './ids.ts'
import { ask, read } from './operation.ts'

/** A top-level field of the item. A nested value counts as one field, as JSON. */
const FieldName = z.string().max(200)

export const ItemColumn = z.object({
  name: z.string(),
  /** The type of the values in sampled items from the start, middle and end of the file. `mixed`: several types. */
  type: z.enum(['text', 'number', 'boolean', 'nested', 'mixed', 'empty'])
})
export type ItemColumn = z.infer<typeof ItemColumn>

/**
 * A value as a string: numbers as they are in the file, nested values as JSON. null: the item does not have the
 * field.
 */
export const ItemCell = z
  .object({
    type: z.enum(['text', 'number', 'boolean', 'null', 'nested']),
    text: z.string(),
    isCut: z.boolean()
  })
  .nullable()
export type ItemCell = z.infer<typeof ItemCell>

/** If `value` is a number, values are compared as numbers. `contains` and `starts with` ignore case. */
export const ItemCondition = z.object({
  field: FieldName,
  operator: z.enum(['is', 'is not', 'contains', 'starts with', 'empty', 'not empty', 'greater', 'less']),
  value: z.string().max(1_000).default('')
})
export type ItemCondition = z.infer<typeof ItemCondition>

const ofJob = {
  jobId: JobId,
  attemptNumber: z.coerce.number().int().positive().brand<'AttemptNumber'>().optional()
}

const filter = z.array(ItemCondition).max(10).default([])

export const ItemsFacts = z.object({
  attemptNumber: z.number().int(),
  from: z.enum(['local', 'node', 'archive']),
  nodeId: NodeId.nullable(),
  format: z.enum(['jsonl', 'json', 'csv']),
  sizeBytes: z.number().int(),
  /** For a file of a remote node, the number of bytes copied so far. Otherwise, the file's size. */
  copiedBytes: z.number().int(),
  /** Whether the attempt is still live, so that the file can grow. */
  mayGrow: z.boolean(),
  columns: z.array(ItemColumn),
  hasMoreFields: z.boolean(),
  /** null: not counted yet (see `count`). */
  items: z.number().int().nullable(),
  /** Lines that are not items: broken JSON, invalid UTF-8, longer than 16 MB. null: not counted yet. */
  unreadable: z.number().int().nullable(),
  /** Whether the file ends in the middle of an item: the file is being written, or the run was killed. */
  endsInside: z.boolean(),
  /** `plain` does not support sorting, statistics, differences or Parquet. */
  engine: z.enum(['duckdb', 'plain']),
  engineProblem: z.string().nullable()
})
export type ItemsFacts = z.infer<typeof ItemsFacts>

export const ItemRow = z.object({
  /** From 0, in the order of the file. Lines that are not items count too. */
  index: z.number().int(),
  cells: z.array(ItemCell).nullable()
})
export type ItemRow = z.infer<typeof ItemRow>

export const ItemsPage = z.object({
  columns: z.array(z.string()),
  rows: z.array(ItemRow),
  /** null: the end. A page can have fewer rows than requested, because a page also ends after 4 MB. */
  nextOffset: z.number().int().nullable()
})
export type ItemsPage = z.infer<typeof ItemsPage>

export const FieldStatistics = z.object({
  field: z.string(),
  items: z.number().int(),
  unreadable: z.number().int(),
  filled: z.number().int(),
  /** An estimate, which can be wrong by a few percent. */
  distinct: z.number().int(),
  /** Covers numbers, and strings that contain only a number. */
  numbers: z.object({ count: z.number().int(), min: z.number(), max: z.number(), mean: z.number() }).nullable(),
  /** In characters, of all filled values. */
  length: z.object({ min: z.number().int(), max: z.number().int(), mean: z.number() }).nullable(),
  /** The most frequent values, cut to 200 characters. Empty for a large file with mostly different values. */
  top: z.array(z.object({ value: z.string(), count: z.number().int() }))
})
export type FieldStatistics = z.infer<typeof FieldStatistics>

export const ItemsDiff = z.object({
  before: z.object({ jobId: JobId, items: z.number().int(), unreadable: z.number().int() }),
  after: z.object({ jobId: JobId, items: z.number().int(), unreadable: z.number().int() }),
  /** The number of items in which each field is filled; null: the field does not occur. */
  fields: z.array(
    z.object({ name: z.string(), before: z.number().int().nullable(), after: z.number().int().nullable() })
  ),
  /** Without a key, items are compared as a whole, so no item counts as changed. */
  added: z.number().int(),
  removed: z.number().int(),
  changed: z.number().int().nullable(),
  same: z.number().int(),
  /**
   * Items that were not compared: items without a key, and all but one of the items with the same key. null: no key
   * was given.
   */
  repeatedKeys: z.number().int().nullable(),
  /** The first keys of each kind, cut to 200 characters. Without a key, these are the items themselves. */
  examples: z.object({ added: z.array(z.string()), removed: z.array(z.string()), changed: z.array(z.string()) })
})
export type ItemsDiff = z.infer<typeof ItemsDiff>

export const ItemsFormat = z.enum(['jsonl', 'json', 'csv', 'parquet'])
export type ItemsFormat = z.infer<typeof ItemsFormat>

const ExportId = z.string().regex(/^[0-9a-f]{32}$/)

/** `share`: how much has been read so far, from 0 to 1. `file` is set in the last message. */
export const ExportProgress = z.object({
  share: z.number(),
  file: z.object({ id: ExportId, name: z.string(), sizeBytes: z.number().int(), items: z.number().int() }).nullable()
})
export type ExportProgress = z.infer<typeof ExportProgress>

const pageBytes = () => 6_000_000

export const itemsContract = {
  /** Returns what is known without reading all items. With `count`, all items are read and counted. */
  describe: read('read', 'GET /jobs/{jobId}/items', { jobId: 'job' }, { answerBytes: () => 200_000 })
    .input(z.object({ ...ofJob, count: z.stringbool().or(z.boolean()).default(false) }))
    .output(ItemsFacts),
  /** Sorting puts items without the field last. */
  page: ask('read', 'POST /jobs/{jobId}/items/page', { jobId: 'job' }, { answerBytes: pageBytes })
    .input(
      z.object({
        ...ofJob,
        offset: z.number().int().min(0).max(1e12).default(0),
        limit: z.number().int().min(1).max(ITEMS_BOUNDS.pageRows).default(100),
        /** Default: the first fifty columns that `describe` returns. */
        columns: z.array(FieldName).max(ITEMS_BOUNDS.pageColumns).optional(),
        sort: z.object({ field: FieldName, descending: z.boolean().default(false) }).optional(),
        filter
      })
    )
    .output(ItemsPage),
  read: read('read', 'GET /jobs/{jobId}/items/{index}', { jobId: 'job' }, { answerBytes: () => 4_000_000 })
    .input(z.object({ ...ofJob, index: z.coerce.number().int().min(0).max(1e12) }))
    .output(z.object({ index: z.number().int(), text: z.string(), isCut: z.boolean(), isReadable: z.boolean() })),
  fieldStatistics: read('read', 'GET /jobs/{jobId}/items-statistics', { jobId: 'job' }, { answerBytes: () => 50_000 })
    .input(z.object({ ...ofJob, field: FieldName }))
    .output(FieldStatistics),
  diff: ask('read', 'POST /jobs/{jobId}/items/diff', { jobId: 'job', before: 'job' }, { answerBytes: () => 300_000 })
    .input(z.object({ ...ofJob, before: JobId, key: FieldName.optional() }))
    .output(ItemsDiff),
  /**
   * Writes the matching items to a file for `readExport`. `GET /api/v1/jobs/{id}/items/export` exports and reads in one
   * request.
   */
  export: ask('read', 'POST /jobs/{jobId}/items/export', { jobId: 'job' })
    .input(z.object({ ...ofJob, format: ItemsFormat, filter }))
    .output(eventIterator(ExportProgress)),
  /**
   * Returns a piece of an exported file, in base64. The file is deleted after its last piece, or ten minutes after
   * the last read.
   */
  readExport: read('read', 'GET /item-exports/{id}', 'caller', { answerBytes: () => 6_000_000 })
    .input(z.object({ id: ExportId, offset: z.coerce.number().int().min(0).max(1e13).default(0) }))
    .output(z.object({ offset: z.number().int(), nextOffset: z.number().int().nullable(), base64: z.string() }))
}
