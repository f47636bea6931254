/** The maximum size of an item, also in DuckDB. A longer line does not count as an item. */
export const ITEM_MAX_BYTES = 16 * 1024 * 1024
export const CELL_MAX_CHARACTERS = 200
/** The maximum number of columns. Further fields appear only when a whole item is shown. */
export const COLUMNS_MAX = 500
export const COLUMNS_SHOWN = 50
export const WHOLE_ITEM_MAX_CHARACTERS = 1_000_000
export const PIECE_BYTES = 1024 * 1024
