/** Of advisory locks, whose second number is the namespace: other programs are unlikely to choose these. */
export const WRITE_LOCK = 20_261_126
/** Held by the engine that leads the namespace, or uses it alone. */
export const ENGINE_LOCK = 20_261_127
