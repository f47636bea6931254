import type { Sentence } from './texts/sentence.ts'

/**
 * The only table of error codes. A code never changes its meaning and is never reused. docs/errors.md explains each
 * code to users (a test compares both). `status` is the HTTP status of the REST API; the Scrapyd-compatible API
 * responds with 200 and `status: "error"`, as Scrapyd does.
 */
export const ERROR_CODES = {
  BAD_INPUT: { status: 400, title: 'The request is not valid for this operation' },
  UNAUTHORIZED: { status: 401, title: 'Credentials are missing or wrong' },
  FORBIDDEN_ORIGIN: { status: 403, title: 'The request came from a web page that is not Scrapdeck' },
  SIGN_IN_FAILED: { status: 403, title: 'The sign-in failed' },
  SIGN_IN_NOT_FOUND: { status: 404, title: 'No pending sign-in has this code' },
  BROWSER_REQUIRED: { status: 403, title: 'Only a browser that is logged in may do this' },
  SIGN_IN_UNAVAILABLE: { status: 503, title: 'The identity provider does not respond' },
  ROLE_REQUIRED: { status: 403, title: 'Your role does not allow this' },
  PASSWORD_REQUIRED: { status: 403, title: 'This requires the password, not only a session' },
  SECOND_FACTOR_REQUIRED: { status: 403, title: 'The password of this user is not enough' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  JOB_NOT_FOUND: { status: 404, title: 'There is no job with this id' },
  NODE_NOT_FOUND: { status: 404, title: 'There is no node with this id' },
  PROJECT_NOT_FOUND: { status: 404, title: 'There is no project with this name' },
  VERSION_NOT_FOUND: { status: 404, title: 'The project has no such version' },
  SPIDERS_UNKNOWN: { status: 503, title: 'No node can list the spiders of this version now' },
  SPIDER_NOT_FOUND: { status: 404, title: 'The version has no such spider' },
  LOG_NOT_FOUND: { status: 404, title: 'The log is not available' },
  ERROR_GROUP_NOT_FOUND: { status: 404, title: 'There is no error group with this id' },
  LOG_DAMAGED: { status: 500, title: 'The archived log is damaged' },
  ITEMS_NOT_FOUND: { status: 404, title: 'The items are not available' },
  ITEMS_UNREADABLE: { status: 422, title: 'The file is neither JSON lines nor a JSON list nor CSV' },
  ITEMS_TOO_LARGE: { status: 413, title: 'The items are larger than the limit' },
  ITEMS_COPYING: { status: 503, title: 'The items are still being copied from their node' },
  ITEMS_NEED_DUCKDB: { status: 503, title: 'This needs DuckDB, which is not available here' },
  ITEMS_FAILED: { status: 503, title: 'The items could not be read' },
  ARGUMENT_RESERVED: { status: 400, title: 'This argument name is reserved by Scrapyd or Scrapy' },
  NODE_DUPLICATE: { status: 409, title: 'This node is already in the fleet' },
  NODE_URL_INVALID: { status: 400, title: 'This is not the address of a Scrapyd server' },
  NODE_CONNECTION_INVALID: { status: 400, title: 'A certificate, key or proxy of the node cannot be used' },
  CREDENTIAL_FILE_NOT_ALLOWED: { status: 403, title: 'This file must not be used as a credential' },
  EXTERNAL_JOB_GONE: { status: 404, title: 'The node does not list this external job' },
  JOB_IS_OURS: { status: 409, title: 'This run already belongs to a Scrapdeck job' },
  NODE_BUSY: { status: 409, title: 'Jobs are still running on the node' },
  NODE_IS_LOCAL: { status: 409, title: 'A local node is part of its engine and cannot be removed' },
  NODE_DOES_NOT_PULL: { status: 409, title: 'This node does not pull its jobs, so it has no token' },
  NODE_SESSION_UNKNOWN: { status: 409, title: 'The session of a pulling node is not known here' },
  NODE_SESSION_SUPERSEDED: { status: 409, title: 'Another Scrapyd took over as this pulling node' },
  NODE_SESSION_HELD: { status: 409, title: 'Another Scrapyd is connected as this pulling node' },
  NODE_UNREACHABLE: { status: 502, title: 'The node did not respond' },
  NODE_UNAUTHORIZED: { status: 502, title: 'The node refused the user name or password' },
  EGG_LINK_INVALID: { status: 403, title: 'This link to an egg has expired' },
  NODE_FORBIDDEN: { status: 502, title: 'The credentials of the node lack a permission' },
  NODE_ANSWER_INVALID: { status: 502, title: 'The node responded, but not as Scrapyd does' },
  NODE_REFUSED: { status: 502, title: 'The node rejected the request' },
  SCHEDULE_NOT_FOUND: { status: 404, title: 'There is no schedule with this id' },
  SCHEDULE_NAME_TAKEN: { status: 409, title: 'There is already a schedule with this name' },
  CHAIN_NOT_FOUND: { status: 404, title: 'There is no chain with this id' },
  USER_NOT_FOUND: { status: 404, title: 'There is no user with this id' },
  ROLE_NOT_FOUND: { status: 404, title: 'There is no custom role of this name' },
  ROLE_NAME_TAKEN: { status: 409, title: 'There is already a role with this name' },
  ROLE_IN_USE: { status: 409, title: 'This role is in use' },
  USER_NAME_TAKEN: { status: 409, title: 'There is already a user with this name' },
  GROUP_NOT_FOUND: { status: 404, title: 'There is no group of users with this id' },
  GROUP_NAME_TAKEN: { status: 409, title: 'There is already a group of users with this name' },
  TOKEN_NOT_FOUND: { status: 404, title: 'There is no token with this id' },
  SESSION_NOT_FOUND: { status: 404, title: 'There is no session with this id' },
  ALERT_NOT_FOUND: { status: 404, title: 'There is no alert with this id' },
  ALERT_RULE_NOT_FOUND: { status: 404, title: 'There is no alert rule with this id' },
  ALERT_SILENCE_NOT_FOUND: { status: 404, title: 'There is no silence with this id' },
  ALERT_CHANNEL_NOT_FOUND: { status: 404, title: 'There is no alert channel with this id' },
  WEBHOOK_NOT_FOUND: { status: 404, title: 'There is no webhook with this id' },
  CHANGED_MEANWHILE: { status: 409, title: 'Concurrent change: it was changed after you read it' },
  BACKFILL_RUNNING: { status: 409, title: 'A backfill of this schedule is already running' },
  WEBHOOK_URL_FORBIDDEN: { status: 400, title: 'Webhooks may not be sent to this address' },
  CERTIFICATE_UNUSABLE: { status: 500, title: 'The certificate of the service cannot be used' },
  PLAIN_HTTP_REFUSED: { status: 500, title: 'The service would be reachable over plain HTTP from other machines' },
  PLUGIN_UNUSABLE: { status: 500, title: 'A plugin cannot be loaded' },
  IDEMPOTENCY_KEY_REUSED: { status: 409, title: 'The idempotency key was used for another request' },
  IDEMPOTENCY_CUT_OFF: { status: 409, title: 'The first request with this key was interrupted' },
  IDEMPOTENCY_SECRET_NOT_KEPT: {
    status: 409,
    title: 'The first response with this key had a secret, which is not kept'
  },
  REQUEST_TOO_LARGE: { status: 413, title: 'The request is larger than the limit' },
  ANSWER_TOO_LARGE: { status: 413, title: 'The response would be larger than the limit' },
  TOO_MANY_REQUESTS: { status: 429, title: 'Rate limit exceeded' },
  FLEET_FILE_INVALID: { status: 400, title: 'The fleet file cannot be applied' },
  EGG_NOT_A_ZIP: { status: 400, title: 'The file is not an egg: it is not a zip archive' },
  EGG_NO_METADATA: { status: 400, title: 'The file is neither an egg nor a wheel' },
  EGG_NO_SETTINGS: { status: 400, title: 'The egg does not name its Scrapy settings' },
  EGG_TOO_LARGE: { status: 413, title: 'The egg is larger than the limit' },
  EGG_UNSAFE: { status: 400, title: 'The archive has an unsafe file name, link or compression ratio' },
  EGG_IMPORT_FAILED: { status: 422, title: 'The code in the egg cannot be imported' },
  VERSION_IN_USE: { status: 409, title: 'Unfinished jobs need this version' },
  VERSION_PINNED: { status: 409, title: 'The project is pinned to this version' },
  PYTHON_MISSING: { status: 503, title: 'No Python with Scrapy was found' },
  DATA_DIRECTORY_UNUSABLE: { status: 503, title: 'The data directory cannot be written' },
  DATABASE_IN_USE: { status: 503, title: 'Another Scrapdeck is using this database' },
  DATABASE_UNUSABLE: { status: 503, title: 'The database cannot be used' },
  BLOBS_UNUSABLE: { status: 503, title: 'The storage of the blobs cannot be used' },
  BLOB_DAMAGED: { status: 500, title: 'A stored file is damaged' },
  ENCRYPTION_KEYS_UNUSABLE: { status: 503, title: 'The keys for stored files cannot be used' },
  ENCRYPTION_KEY_MISSING: { status: 503, title: 'The key of a stored file is missing' },
  STORE_NOT_EMPTY: { status: 409, title: 'There is already something where the store should be copied to' },
  COPY_DIFFERS: { status: 500, title: 'The copy of a store differs from its source' },
  BACKUP_DAMAGED: { status: 500, title: 'The backup is damaged' },
  BACKUP_FAILED: { status: 503, title: 'The backup could not be written' },
  DATA_DIRECTORY_IN_USE: { status: 503, title: 'Another Scrapdeck is using this data directory' },
  NO_LEADER: { status: 503, title: 'No engine leads at the moment' },
  NOT_LEADER: { status: 503, title: 'Another engine leads now' },
  ENGINES_DIFFER: { status: 503, title: 'The engines of this database do not have the same key' },
  ENGINE_UNREACHABLE: { status: 502, title: 'The remote engine does not respond' },
  ENGINE_CERTIFICATE_UNTRUSTED: { status: 502, title: 'The certificate of the remote engine is not trusted yet' },
  ENGINE_CERTIFICATE_CHANGED: { status: 502, title: 'The certificate of the remote engine has changed' },
  ENGINE_READ_ONLY: { status: 403, title: 'This engine is open read-only' },
  ENGINE_LACKS_OPERATION: { status: 501, title: 'The remote engine is too old for this' },
  DATA_FROM_NEWER_VERSION: { status: 503, title: 'The data was written by a newer Scrapdeck' },
  DATA_TOO_OLD: { status: 503, title: 'The data is older than this Scrapdeck can migrate' },
  STOPPING: { status: 503, title: 'Scrapdeck is stopping' },
  INTERNAL: { status: 500, title: 'Internal error' }
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERROR_CODES

/**
 * The only error class that clients receive. `message` describes what happened and what to do. `data` must be
 * clonable.
 */
export class ScrapdeckError extends Error {
  override readonly name = 'ScrapdeckError'
  readonly code: ErrorCode
  readonly data: Readonly<Record<string, unknown>>

  /** A sentence from the catalogue is also sent as `data.text`, so that a client can render it in its own language. */
  constructor(
    code: ErrorCode,
    message: string | Sentence,
    { cause, data = {} }: { cause?: unknown; data?: Record<string, unknown> } = {}
  ) {
    super(typeof message === 'string' ? message : message.text, cause === undefined ? undefined : { cause })
    this.code = code
    this.data = typeof message === 'string' ? data : { ...data, text: { code: message.code, params: message.params } }
  }
}

export function isScrapdeckError(error: unknown, code?: ErrorCode): error is ScrapdeckError {
  return error instanceof ScrapdeckError && (code === undefined || error.code === code)
}
