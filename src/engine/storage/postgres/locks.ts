/** Of advisory locks, whose second number is the namespace: nobody else is likely to choose these. */
export const WRITE_LOCK = 20_261_126
/** Held by who leads the engines of the namespace, or uses it alone. */
export const ENGINE_LOCK = 20_261_127
