/** Settings, arguments and variables of all jobs that are queued together, as JSON: one order may ask for thousands. */
export const MAX_ORDER_BYTES = 16_000_000
