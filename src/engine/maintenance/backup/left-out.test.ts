import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { openEncryptionKeys } from '../../runtime/encryption-keys.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { openSqliteStoreHere } from '../../storage/sqlite/sqlite-store.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { makeBackup } from './make-backup.ts'
import { restoreBackup } from './read-backup.ts'

async function digIn(folder: string): Promise<void> {
  const before = process.cwd()
  try {
    process.chdir(folder)
    for (let depth = 0; depth < 25; depth += 1) {
      await mkdir('d'.repeat(200))
      process.chdir('d'.repeat(200))
    }
  } finally {
    process.chdir(before)
  }
}

test.skipIf(process.platform === 'win32')(
  'a backup leaves out whatever a spider wrote to obstruct it, and can be made and restored',
  async () => {
    await using directory = await makeTemporaryDirectory()
    const at = (...names: string[]) => join(directory.path, ...names)
    const options = { path: at('data/scrapdeck.sqlite'), clock: systemClock, logger: silentLogger }
    await (await openSqliteStoreHere(options)).close()
    const folders = ['local/work/shop', 'local/logs/shop/prices']
    for (const folder of folders) {
      await mkdir(at('data', folder, 'closed'), { recursive: true })
      await writeFile(at('data', folder, 'a\\b'), 'x')
      await writeFile(at('data', folder, 'kept'), 'kept')
      await digIn(at('data', folder))
      await chmod(at('data', folder, 'closed'), 0)
    }
    const pieces: Uint8Array[] = []
    const made = await makeBackup({
      dataDirectory: at('data'),
      postgres: null,
      blobs: { kind: 'files', directory: at('data/blobs') },
      scrapdeckVersion: 'test',
      keys: null,
      withSecrets: false,
      clock: systemClock,
      report() {},
      signal: new AbortController().signal,
      async write(bytes) {
        for await (const piece of bytes) pieces.push(piece)
      }
    })
    for (const folder of folders) {
      expect(made.leftOut).toContain(`${folder}/a\\b`)
      expect(made.leftOut.some((name) => name.startsWith(`${folder}/ddd`))).toBe(true)
    }
    const keys = await openEncryptionKeys(null)
    const source = Readable.from(pieces, { objectMode: false })
    await restoreBackup({ source, keys, report() {}, directory: at('restored'), isPaused: false })
    for (const folder of folders) expect(await readFile(at('restored', folder, 'kept'), 'utf8')).toBe('kept')
    // Node cannot remove the folder, because it uses whole paths, which are too long here.
    execFileSync('sh', ['-c', 'chmod -R u+rwx "$0"; rm -rf "$0"', at('data')])
  }
)
