/**
 * Replaces compression in the archive of logs with nothing: real compression runs in other threads, whose order is
 * random.
 */
export { constants, createGunzip, gunzipSync } from 'node:zlib'
type Done = (error: null, bytes: Uint8Array) => void
export const zstdCompress = (bytes: Uint8Array, _options: unknown, done: Done) => done(null, bytes)
export const zstdDecompress = zstdCompress
export const zstdCompressSync = (bytes: Uint8Array): Uint8Array => bytes
export const zstdDecompressSync = zstdCompressSync
