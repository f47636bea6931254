/** An egg of 200 MB with its form around it. A percent-encoded egg may take this much on the wire, not more. */
export const MAX_UPLOAD_BYTES = 210 * 1024 * 1024

/** A JSON request: ten thousand job ids fit many times over. */
export const MAX_JSON_BYTES = 4 * 1024 * 1024

/** For each credential of the API: far more than people and programs need, far less than a loop without waits makes. */
export const API_REQUESTS_PER_SECOND = 500
