import { PassThrough } from 'node:stream'

/**
 * What the archive of logs compresses with, in the simulation: nothing. The real one works in other threads, whose
 * order is chance.
 */
export const createGzip = () => new PassThrough()
export const createGunzip = () => new PassThrough()
export const gzip = (bytes: Uint8Array, done: (error: null, packed: Uint8Array) => void) => void done(null, bytes)
export const gzipSync = (bytes: Uint8Array): Uint8Array => bytes
