/**
 * Long tests (random stories, many seeds, years of a calendar) have a short form for `npm test` and
 * `npm run test:full`, and a long one for `npm run test:long`: the same tests with more of each.
 */
export const isLong = process.env.TEST_LENGTH === 'long'

/** @template Value @param {Value} short @param {Value} long @returns {Value} */
export const pickLength = (short, long) => (isLong ? long : short)

/** Of test files, what `npm test` leaves out: only `npm run test:full`, or its name, runs it. */
export const leftOut = process.env.TEST_SUITE === 'core' ? ['**/*.full.*'] : []
