import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { EggToSend } from '../projects/projects.ts'

export function anEggToSend(bytes: Uint8Array): EggToSend {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { sha256, sizeBytes: bytes.length, open: async () => Readable.from([bytes]) }
}
