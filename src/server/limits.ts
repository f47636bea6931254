/** An egg of 200 MB plus the form around it. Also the limit for a percent-encoded egg as sent. */
export const MAX_UPLOAD_BYTES = 210 * 1024 * 1024

/** For JSON requests: room for ten thousand job ids several times over. */
export const MAX_JSON_BYTES = 4 * 1024 * 1024

/** Per credential: far more than people and programs need, far less than a loop without pauses sends. */
export const API_REQUESTS_PER_SECOND = 500
