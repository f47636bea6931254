import type { SentError } from '../../runtime/thread-task.ts'
import type {
  FieldStatistics,
  ItemColumn,
  ItemCondition,
  ItemsDiff,
  ItemsFacts,
  ItemsFormat,
  ItemsPage
} from '../../../shared/contract/index.ts'
import type { FilledFields } from '../../model/records.ts'

export interface ItemsSource {
  path: string
  /** Changes when another file takes this path. */
  fileId: string
  /** Ignore bytes beyond this size. They were written later or belong to another request's copy. */
  sizeBytes: number
  /** Where to write the file as JSON lines for DuckDB. The path depends on the version of the content. */
  convertedPath: string
  convertedMaxBytes: number
  spillDirectory: string
}

export interface PageInput {
  offset: number
  limit: number
  columns: string[] | null
  sort: { field: string; descending: boolean } | null
  filter: ItemCondition[]
}

export interface DescribedFile {
  format: ItemsFacts['format']
  columns: ItemColumn[]
  hasMoreFields: boolean
  items: number | null
  unreadable: number | null
  endsInside: boolean
  engine: ItemsFacts['engine']
  engineProblem: string | null
}

export interface WholeItem {
  index: number
  text: string
  isCut: boolean
  isReadable: boolean
}

export interface ExportedFile {
  sizeBytes: number
  items: number
}

export interface ItemsCalls {
  describe: { input: { source: ItemsSource; count: boolean }; result: DescribedFile }
  page: { input: { source: ItemsSource } & PageInput; result: ItemsPage }
  read: { input: { source: ItemsSource; index: number }; result: WholeItem | null }
  fieldStatistics: { input: { source: ItemsSource; field: string }; result: FieldStatistics }
  countFilled: { input: { source: ItemsSource }; result: FilledFields }
  diff: {
    input: { before: ItemsSource; after: ItemsSource; key: string | null }
    result: DiffOfFiles
  }
  export: {
    input: { source: ItemsSource; format: ItemsFormat; filter: ItemCondition[]; targetPath: string; maxBytes: number }
    result: ExportedFile
  }
}

export type ItemsCall = keyof ItemsCalls

export type DiffOfFiles = Omit<ItemsDiff, 'before' | 'after'> &
  Record<'before' | 'after', { items: number; unreadable: number }>

export type ToReader = { id: number; call: ItemsCall; input: unknown } | { abort: number }

export type FromReader =
  | { id: number; value: unknown }
  | { id: number; share: number }
  | { id: number; error: SentError }
  | { id: number; failure: string }
