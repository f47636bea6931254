/** What whoever started a bench can mend: printed without a stack. */
export class BenchProblem extends Error {}
