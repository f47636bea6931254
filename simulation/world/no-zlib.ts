import { PassThrough } from 'node:stream'

/**
 * Replaces compression in the archive of logs with nothing: real compression runs in other threads, whose order is
 * random.
 */
export const createGzip = () => new PassThrough()
export const createGunzip = () => new PassThrough()
export const gzip = (bytes: Uint8Array, done: (error: null, packed: Uint8Array) => void) => void done(null, bytes)
export const gzipSync = (bytes: Uint8Array): Uint8Array => bytes
