/**
 * The maximum size of an upload: an egg of 200 MB plus the rest of the form. For a percent-encoded egg, the encoded
 * size counts.
 */
export const MAX_UPLOAD_BYTES = 210 * 1024 * 1024

/**
 * The maximum size of a JSON request: several times the size of ten thousand job ids. Also limits forms, not counting
 * the egg.
 */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024

/**
 * The maximum sizes of what a pulling node sends: a message with lists, and one part of a file
 * (nodes/pulling/messages.ts).
 */
export const NODE_MESSAGE_BYTES = 8 * 1024 * 1024
export const NODE_DATA_BYTES = 1024 * 1024

/**
 * How long a client can take to send a whole request: enough for 200 MB at 2 Mbit/s. Without a limit, clients could
 * hold connections forever.
 */
export const REQUEST_LIMIT_MS = 15 * 60_000

/** How long a client can take to send a request's headers, which fit into one packet. */
export const HEADERS_LIMIT_MS = 10_000

/**
 * How long a connection stays open without a request. Longer than the minute after which proxies close their
 * connections.
 */
export const KEEP_ALIVE_MS = 72_000

/** How long a client can take to send a body without credentials, or the rest of a body that is no longer needed. */
export const STRANGER_BODY_LIMIT_MS = 10_000

/** A limit of `requests` per `windowSeconds`, evenly distributed, with bursts of up to `burst` requests. */
export interface RateLimit {
  requests: number
  windowSeconds: number
  burst: number
}

/** null means no limit. */
export interface RateLimits {
  /** The limit for REST, JSON-RPC and the UI's API, per credential and address. */
  api: RateLimit | null
  /**
   * The limit for all other endpoints that require credentials (Scrapyd's, logs, items, metrics, pages), also per
   * credential and address.
   */
  endpoints: RateLimit | null
  /** The limit for public endpoints (health, login) and requests with rejected credentials, per address. */
  open: RateLimit | null
}

/** How many seconds' worth of requests a burst can contain. */
export const BURST_SECONDS = 4

export const perSecond = (requests: number): RateLimit | null =>
  requests === 0 ? null : { requests, windowSeconds: 1, burst: requests * BURST_SECONDS }

/** The defaults are far above what people and programs need. Clients of Scrapyd can poll as fast as they like. */
export const DEFAULT_RATE_LIMITS: RateLimits = { api: perSecond(500), endpoints: null, open: perSecond(100) }

/** The limit per pulling node: far more than is needed by a node that starts and ends ten jobs per second. */
export const NODE_RATE_LIMIT = perSecond(200)

export interface ConnectionLimits {
  total: number
  /** Does not apply to this machine or to trusted proxies, behind which all clients share an address. */
  perAddress: number
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = { total: 4_000, perAddress: 500 }
