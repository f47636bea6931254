import type { LogRange } from '../../nodes/node-client.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'

/** Bytes of a file, with the contract of NodeClient.readLog; null if there is no file. */
export async function readFileRange(
  path: string,
  range: { offset: number; limitBytes: number }
): Promise<LogRange | null> {
  await using file = await openRegularFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (file === null) return null
  const { size: sizeBytes, dev, ino } = await file.stat()
  const offset = range.offset < 0 ? Math.max(0, sizeBytes + range.offset) : range.offset
  const bytes = new Uint8Array(Math.max(0, Math.min(range.limitBytes, sizeBytes - offset)))
  const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, offset)
  return { offset, sizeBytes, bytes: bytes.subarray(0, bytesRead), fileId: `${dev} ${ino}` }
}
