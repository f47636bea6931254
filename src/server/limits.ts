/** An egg of 200 MB plus the form around it. Also the limit for a percent-encoded egg as sent. */
export const MAX_UPLOAD_BYTES = 210 * 1024 * 1024

/** For JSON requests: several times the size of ten thousand job ids. The same for forms, without their egg. */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** For messages of a pulling node: its lists, and a part of a file (nodes/pulling/messages.ts). */
export const NODE_MESSAGE_BYTES = 8 * 1024 * 1024
export const NODE_DATA_BYTES = 1024 * 1024

/** For a whole request: an egg of 200 MB at 2 Mbit/s. Without a limit, clients could hold connections forever. */
export const REQUEST_LIMIT_MS = 15 * 60_000

/** The headers of a request take one packet; a client that needs longer is not sending them. */
export const HEADERS_LIMIT_MS = 10_000

/** For the next request on a connection: longer than the minute after which proxies close theirs. */
export const KEEP_ALIVE_MS = 72_000

/** For the body of a request without credentials, and for the rest of a body that is no longer read. */
export const STRANGER_BODY_LIMIT_MS = 10_000

/** `requests` in `windowSeconds`, evenly distributed; up to `burst` of them at once. */
export interface RateLimit {
  requests: number
  windowSeconds: number
  burst: number
}

/** null: no limit. */
export interface RateLimits {
  /** REST, JSON-RPC and the UI's API, for each credential at each address. */
  api: RateLimit | null
  /** Everything else that requires credentials (Scrapyd's endpoints, logs, items, metrics, pages), likewise. */
  endpoints: RateLimit | null
  /** Public endpoints (health, login) and requests with rejected credentials, for each address. */
  open: RateLimit | null
}

/** Programs send bursts: four seconds' worth at once. */
export const BURST_SECONDS = 4

export const perSecond = (requests: number): RateLimit | null =>
  requests === 0 ? null : { requests, windowSeconds: 1, burst: requests * BURST_SECONDS }

/**
 * The API's limit is far more than people and programs need, and far less than a loop without pauses sends. Scrapyd has
 * no limit, and its clients poll as fast as they like.
 */
export const DEFAULT_RATE_LIMITS: RateLimits = { api: perSecond(500), endpoints: null, open: perSecond(100) }

/** For each pulling node: far more than one needs that starts and ends ten jobs per second. */
export const NODE_RATE_LIMIT = perSecond(200)

export interface ConnectionLimits {
  total: number
  /** Does not apply to this machine and to trusted proxies, behind which all clients have one address. */
  perAddress: number
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = { total: 4_000, perAddress: 500 }
