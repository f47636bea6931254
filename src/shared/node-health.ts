import type { NodeHealth } from './contract/index.ts'

/**
 * What a node's health means. Code compares with `up` or calls one of these functions, so that each meaning has one
 * name, in predicates and in the times when these became true (`awaySinceMs`, `unreachableSinceMs` of a node's status):
 *
 * | health         | means                                                    | is up | is away | is unreachable |
 * | -------------- | -------------------------------------------------------- | ----- | ------- | -------------- |
 * | `unknown`      | not polled yet                                           | no    | no      | no             |
 * | `up`           | responds as a node; only such a node gets jobs           | yes   | no      | no             |
 * | `unauthorized` | responds, but refuses our credentials                    | no    | yes     | no             |
 * | `invalid`      | something responds in its place, such as a proxy's page  | no    | yes     | yes            |
 * | `down`         | does not respond                                         | no    | yes     | yes            |
 */

/** Whether a polled node cannot be used: a problem that an operator must see. Its latest good response is outdated. */
export const isAway = (health: NodeHealth): boolean => health !== 'up' && health !== 'unknown'

/** Whether the state of a node's runs is unknown, because the node itself does not respond. */
export const isUnreachable = (health: NodeHealth): boolean => health === 'down' || health === 'invalid'
