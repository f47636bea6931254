// Values that code compares and computes with. Kept apart from zod and operations for a faster start.

/** The limit of one read, and how far from the end a read can start. */
export const MAX_LOG_CHUNK_BYTES = 4_194_304

export const MAX_ZIPPED_LOGS = 1_000

export const ITEMS_BOUNDS = { pageRows: 500, pageColumns: 100, exportPieceBytes: 4_194_304 } as const

/** Alert messages per channel. */
export const MAX_MESSAGES_PER_HOUR = 1_000

export const DEFAULT_AUDIT_DAYS = 400

/** How long an order is cached if neither it nor the server sets it. */
export const DEFAULT_CRAWL_CACHE_SECONDS = 3_600
export const MAX_CRAWL_CACHE_SECONDS = 31_536_000
