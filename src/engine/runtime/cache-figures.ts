export interface CacheFigures {
  hits: number
  misses: number
  entries: number
  /** null: the entries of this cache are objects in memory, whose size is not measured. */
  bytes: number | null
}
