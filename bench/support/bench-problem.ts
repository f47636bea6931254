/** A problem that the user of a bench can fix: printed without a stack. */
export class BenchProblem extends Error {}
