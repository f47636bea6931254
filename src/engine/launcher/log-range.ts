import { open } from 'node:fs/promises'
import type { LogRange } from '../nodes/node-client.ts'

/** Bytes of a file, as NodeClient.readLog promises them; null when there is none. */
export async function readLogRange(
  path: string,
  range: { offset: number; limitBytes: number }
): Promise<LogRange | null> {
  let file: Awaited<ReturnType<typeof open>>
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const sizeBytes = (await file.stat()).size
    const offset = range.offset < 0 ? Math.max(0, sizeBytes + range.offset) : range.offset
    const bytes = new Uint8Array(Math.max(0, Math.min(range.limitBytes, sizeBytes - offset)))
    const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, offset)
    return { offset, sizeBytes, bytes: bytes.subarray(0, bytesRead) }
  } finally {
    await file.close()
  }
}
