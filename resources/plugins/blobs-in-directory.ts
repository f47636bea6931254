import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Plugin } from '../../src/engine/notify/plugins/plugin.ts'

/**
 * A blob store: eggs and large logs are kept in a directory of yours, such as a share or a larger disk.
 *
 *   plugins =
 *       resources/plugins/blobs-in-directory.ts directory=/mnt/share/scrapdeck
 *
 * For another kind of storage put your own five functions in the place of these; their promises are in docs/plugins.md.
 */
export default async function blobsInDirectory(options: Readonly<Record<string, string>>): Promise<Plugin> {
  if (options.directory === undefined) throw new Error('say where with directory=/mnt/share')
  const root = resolve(options.directory)
  await mkdir(root, { recursive: true })
  const drafts = join(root, '.drafts')
  // What a crash in the middle of a write left behind.
  await rm(drafts, { recursive: true, force: true })
  await mkdir(drafts)

  return {
    blobs: {
      async write(name, content) {
        const draft = join(drafts, randomBytes(8).toString('hex'))
        try {
          await pipeline(Readable.fromWeb(content as never), createWriteStream(draft))
          const { size } = await stat(draft)
          // On the disk before it has its name: whole or absent, also when the power fails.
          const file = await open(draft)
          await file.sync().finally(() => file.close())
          await mkdir(dirname(join(root, name)), { recursive: true })
          await rename(draft, join(root, name))
          return { sizeBytes: size }
        } catch (error) {
          await rm(draft, { force: true })
          throw error
        }
      },

      async read(name) {
        if ((await sizeOf(join(root, name))) === null) return null
        return Readable.toWeb(createReadStream(join(root, name))) as ReadableStream<Uint8Array>
      },

      has: async (name) => (await sizeOf(join(root, name))) !== null,

      delete: (name) => rm(join(root, name), { force: true }),

      async list(prefix) {
        const folder = dirname(`${prefix}x`)
        const names = (await namesIn(join(root, folder))).map((name) => `${folder}/${name}`)
        const found = names.filter((name) => name.startsWith(prefix)).sort()
        return Promise.all(found.map(async (name) => ({ name, sizeBytes: (await sizeOf(join(root, name))) ?? 0 })))
      }
    }
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
