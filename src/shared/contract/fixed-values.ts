// Values that code compares and computes with. Separate from zod and the operations, for a faster start.

/** The maximum size of one read of a log. Also the maximum distance from the end at which a read can start. */
export const MAX_LOG_CHUNK_BYTES = 4_194_304

export const MAX_ZIPPED_LOGS = 1_000

export const ITEMS_BOUNDS = { pageRows: 500, pageColumns: 100, exportPieceBytes: 4_194_304 } as const

/** The highest possible limit of messages per hour for an alert channel. */
export const MAX_MESSAGES_PER_HOUR = 1_000

export const DEFAULT_AUDIT_DAYS = 400

/** How long the response to a crawl order is cached if neither the order nor the server sets this. */
export const DEFAULT_CRAWL_CACHE_SECONDS = 3_600
export const MAX_CRAWL_CACHE_SECONDS = 31_536_000
