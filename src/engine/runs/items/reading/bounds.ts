/** A longer line is no item. DuckDB gets the same limit. */
export const ITEM_MAX_BYTES = 16 * 1024 * 1024
/** Per value in a table. */
export const CELL_MAX_CHARACTERS = 200
/** Further fields are only shown in whole items. */
export const COLUMNS_MAX = 500
/** Columns of a page that names none. */
export const COLUMNS_SHOWN = 50
export const WHOLE_ITEM_MAX_CHARACTERS = 1_000_000
/** Read at once. */
export const PIECE_BYTES = 1024 * 1024
