import type { NodeHealth } from './contract/index.ts'

/**
 * Whether the state of a node's runs is unknown, because the node is down or something else responds in its place, such
 * as a proxy's page. `unauthorized` is a response from the node itself.
 */
export const hidesItsRuns = (health: NodeHealth): boolean => health === 'down' || health === 'invalid'
