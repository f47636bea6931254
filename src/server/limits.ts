/** An egg of 200 MB plus the form around it. Also the limit for a percent-encoded egg as sent. */
export const MAX_UPLOAD_BYTES = 210 * 1024 * 1024

/** For JSON requests: room for ten thousand job ids several times over. */
export const MAX_JSON_BYTES = 4 * 1024 * 1024

/** For forms other than an egg's: as much as JSON requests may have. */
export const MAX_FORM_BYTES = MAX_JSON_BYTES

/** Percent-encoded forms are decoded byte by byte: an egg that is larger must be sent as multipart/form-data. */
export const MAX_ENCODED_EGG_BYTES = 16 * 1024 * 1024

/** Per credential: far more than people and programs need, far less than a loop without pauses sends. */
export const API_REQUESTS_PER_SECOND = 500
