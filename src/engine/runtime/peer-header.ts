/** `SECRET ADDRESS`: from another engine on the same database, with the address of the client that it forwards. */
export const PEER_HEADER = 'x-scrapdeck-forwarded'
/** In requests to a local node: the percent-encoded name of the engine that should respond. */
export const NODE_HEADER = 'x-scrapdeck-node'
