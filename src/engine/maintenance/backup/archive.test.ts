import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openEncryptionKeys } from '../../runtime/encryption-keys.ts'
import { archiveOf, type BackupHead, readArchive } from './archive.ts'

const HOSTILE = '\u001b[2J\u202evm\nThe backup is intact'

test('the description in a backup is shown unchanged, but cannot control a terminal', async () => {
  const head: BackupHead = {
    format: 1,
    scrapdeckVersion: HOSTILE,
    madeAtMs: 0,
    hostname: HOSTILE,
    database: 'sqlite',
    blobsAt: HOSTILE,
    hasSecrets: false
  }
  async function* none() {}
  const archive = archiveOf(head, { files: none(), missing: () => [HOSTILE] }, null, () => {})
  const reading = { onHead() {}, onFile: async () => {} }
  const read = await readArchive(Readable.from(archive, { objectMode: false }), await openEncryptionKeys(null), reading)
  const said = [read.head.scrapdeckVersion, read.head.hostname, read.head.blobsAt, ...read.contents.missing]
  expect(said).toEqual(Array(4).fill('⟨U+001B⟩[2J⟨U+202E⟩vm⟨U+000A⟩The backup is intact'))
})
