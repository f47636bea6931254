import { createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { buildEggFromArchive, type EggNaming } from './egg-builder.ts'
import { hashFile } from './egg-files.ts'
import { type EggFacts, inspectArchive } from './egg-inspection.ts'
import { openZipArchive, type ZipArchive } from './zip-archive.ts'

export interface OpenedEgg {
  path: string
  sizeBytes: number
  sha256: string
  facts: EggFacts
}

export type OpenEgg = typeof openEgg

/** Checks an archive. Builds an egg at `builtPath` if it is a project's zip. Throws EGG_ errors and leaves no file. */
export async function openEgg(path: string, naming: EggNaming, builtPath: string): Promise<OpenedEgg> {
  try {
    return await withArchive(path, async (archive) => {
      // A project's folder can contain metadata that setuptools left there.
      const isEgg = archive.names.includes('EGG-INFO/PKG-INFO')
      const built = isEgg ? null : await buildEggFromArchive(archive, naming)
      if (built === null) return describe(path, archive)
      await pipeline(built, createWriteStream(builtPath, { mode: 0o600 }))
      return withArchive(builtPath, (egg) => describe(builtPath, egg))
    })
  } catch (error) {
    await rm(builtPath, { force: true })
    throw error
  }
}

async function withArchive<T>(path: string, use: (archive: ZipArchive) => Promise<T>): Promise<T> {
  const archive = await openZipArchive(path)
  try {
    return await use(archive)
  } finally {
    archive.close()
  }
}

async function describe(path: string, archive: ZipArchive): Promise<OpenedEgg> {
  const facts = await inspectArchive(archive)
  return { path, sizeBytes: (await stat(path)).size, sha256: await hashFile(path), facts }
}
