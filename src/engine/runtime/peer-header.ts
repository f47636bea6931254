/** `SECRET ADDRESS`: from another engine on the same database; the address is that of the client it speaks for. */
export const PEER_HEADER = 'x-scrapdeck-forwarded'
/** Beside it, for requests to a local node: the name of the engine that should answer, percent-encoded. */
export const NODE_HEADER = 'x-scrapdeck-node'
