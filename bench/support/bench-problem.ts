/** A problem that the user of a bench can fix. Printed without a stack. */
export class BenchProblem extends Error {}
