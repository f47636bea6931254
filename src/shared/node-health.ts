import type { NodeHealth } from './contract/index.ts'

/**
 * Whether it is unknown what happens to the runs on a node: it is down, or something else (a proxy's page) responds in
 * its place. `unauthorized` is a response from the node itself.
 */
export const hidesItsRuns = (health: NodeHealth): boolean => health === 'down' || health === 'invalid'
