/** Engines that a test stopped and that have not yet removed their files, which are in memory. */
export const endingEngines = new Set<Promise<void>>()
