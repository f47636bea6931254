import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { parseS3Address } from '../../runtime/s3-address.ts'
import { describeBlobStore } from '../testing/conformance.ts'
import { openS3Blobs, type S3BlobsOptions } from './open-s3-blobs.ts'
import { S3_BUCKET, S3_KEYS, type S3Server, startS3, whyNoS3 } from './testing/start-s3.ts'

describe.skipIf(whyNoS3() !== null)('on a real S3 server', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3()
  })
  afterAll(() => server?.stop())

  const openAt = async (directory: string, prefix: string, more: Partial<S3BlobsOptions> = {}) => {
    const blobs = await openS3Blobs({
      address: parseS3Address(`s3://${S3_BUCKET}/${prefix}?endpoint=${server.endpoint}`),
      ...{ credentialsFile: null, cacheBytes: 100_000_000, cacheDirectory: join(directory, `cache-${randomUUID()}`) },
      ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
      ...{ environment: S3_KEYS, homeDirectory: directory },
      ...more
    })
    onTestFinished(() => blobs.stop())
    return blobs
  }

  describeBlobStore('blobs on S3, as any blobs', async (directory) => {
    const prefix = randomUUID()
    const open = async () => (await openAt(directory, prefix)).store
    return { store: await open(), reopen: open }
  })
})
