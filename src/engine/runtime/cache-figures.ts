export interface CacheFigures {
  hits: number
  misses: number
  entries: number
  /** null: its entries are objects in memory, whose size is not measured. */
  bytes: number | null
}
