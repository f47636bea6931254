/** Replaces compression, which runs in threads that finish in random order. */
export { constants, createGunzip, gunzipSync } from 'node:zlib'
type Done = (error: null, bytes: Uint8Array) => void
const later = (bytes: Uint8Array, _options: unknown, done: Done) => done(null, bytes)
const atOnce = (bytes: Uint8Array): Uint8Array => bytes
export { atOnce as zstdCompressSync, atOnce as zstdDecompressSync, later as zstdCompress, later as zstdDecompress }
