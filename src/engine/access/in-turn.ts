/** See Access.inTurn. */
export type InTurn = <T>(work: () => Promise<T>, check?: () => void) => Promise<T>
