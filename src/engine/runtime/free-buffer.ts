/**
 * Frees the memory of a buffer that is no longer used. Otherwise it stays until the garbage collector runs, and
 * buffers of a megabyte make it run so often that threads which read whole logs spend a third of their time in it. Does
 * nothing with one that may share its memory with others, as small ones do.
 */
export function freeBuffer({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}
