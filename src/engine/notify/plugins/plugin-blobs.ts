import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/notify.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import type { PluginThread } from './plugin-thread.ts'

const Written = z.object({ sizeBytes: z.number().int().min(0) })
const Listed = z.array(z.object({ name: z.string(), sizeBytes: z.number().int().min(0) }))

/** A plugin's blobs as a BlobStore. Contents are streamed, so neither side holds a large blob in memory. */
export function createPluginBlobs(thread: PluginThread): BlobStore {
  const ask = (call: string, args: unknown[], transfer: unknown[] = []) =>
    thread.call(`blobs.${call}`, args, { timeoutMs: null, transfer })

  async function openRead(name: string): Promise<Readable> {
    const stream = await ask('read', [name])
    if (stream === null) throw new ScrapdeckError('NOT_FOUND', sentence('notify.no_blob', { name }))
    return Readable.fromWeb(stream as never)
  }

  async function write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }> {
    const stream = Readable.toWeb(content instanceof Readable ? content : Readable.from([content]))
    return Written.parse(await ask('write', [name, stream], [stream]))
  }

  return {
    write,
    async adopt(name, path) {
      await write(name, createReadStream(path))
      await rm(path, { force: true })
    },
    localFile: async () => null,
    openAt: async () => null,
    openRead,
    read: async (name) => buffer(await openRead(name)),
    has: async (name) => z.boolean().parse(await ask('has', [name])),
    delete: async (name) => void (await ask('delete', [name])),
    async deleteUnused(name) {
      await ask('delete', [name])
      return true
    },
    list: async (prefix) => Listed.parse(await ask('list', [prefix]))
  }
}
