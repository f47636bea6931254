import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openS3Blobs } from '../../storage/blobs/s3/open-s3-blobs.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { systemRandom } from '../../runtime/random.ts'
import type { S3Address } from '../../runtime/s3-address.ts'
import type { BackupSource } from './make-backup.ts'

interface SourceOptions {
  dataDirectory: string
  postgres: PostgresAddress | null
  s3: { address: S3Address; credentialsFile: string | null } | null
  blobsDirectory: string | null
  /** Whether to include blobs on S3 or in a shared directory. */
  withBlobs: boolean
  environment: Readonly<Record<string, string | undefined>>
}

export async function openBackupSource(options: SourceOptions, opened: AsyncDisposableStack): Promise<BackupSource> {
  const { dataDirectory, postgres } = options
  return { dataDirectory, postgres, blobs: await openBlobs(options, opened) }
}

async function openBlobs(
  { dataDirectory, s3, blobsDirectory, withBlobs, environment }: SourceOptions,
  opened: AsyncDisposableStack
): Promise<BackupSource['blobs']> {
  if (s3 === null && blobsDirectory === null) return { kind: 'files', directory: join(dataDirectory, 'blobs') }
  if (!withBlobs) return { kind: 'elsewhere', place: s3?.address.name ?? blobsDirectory! }
  if (s3 === null) return { kind: 'files', directory: blobsDirectory! }
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'scrapdeck-backup-'))
  opened.defer(() => rm(cacheDirectory, { recursive: true, force: true }))
  const { store, stop } = await openS3Blobs({
    address: s3.address,
    credentialsFile: s3.credentialsFile,
    environment,
    cacheDirectory,
    cacheBytes: 0,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger
  })
  opened.defer(stop)
  return { kind: 'store', store }
}
