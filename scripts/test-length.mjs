/**
 * Long tests (random stories, many seeds) have a short form for `npm test` and `npm run test:full`, and a long one
 * for `npm run test:long`.
 */
export const isLong = process.env.TEST_LENGTH === 'long'

/** `npm test`, which leaves out what `npm run test:full` has time for: `.full.` files, and each `it.skipIf(isCore)`. */
export const isCore = process.env.TEST_SUITE === 'core'

/**
 * `core`: for `npm test`.
 *
 * @template Value @param {Value} short @param {Value} long @param {Value} core @returns {Value}
 */
export const pickLength = (short, long, core = short) => (isLong ? long : isCore ? core : short)

/** The test files that `npm test` skips. They run only in `npm run test:full` or if a call names them. */
export const leftOut = isCore ? ['**/*.full.*'] : []
