/** `SECRET ADDRESS`: marks a request forwarded by another engine on the same database, with its client's address. */
export const PEER_HEADER = 'x-scrapdeck-forwarded'
/** In requests to a local node: the percent-encoded name of the engine that should respond. */
export const NODE_HEADER = 'x-scrapdeck-node'
