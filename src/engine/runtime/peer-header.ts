/** `SECRET ADDRESS`: from another engine on the same database, with the address of the client it speaks for. */
export const PEER_HEADER = 'x-scrapdeck-forwarded'
