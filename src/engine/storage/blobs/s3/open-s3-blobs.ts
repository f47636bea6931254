import { homedir } from 'node:os'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { CacheFigures } from '../../../runtime/cache-figures.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Random } from '../../../runtime/random.ts'
import { encryptionHeaders, type S3Address } from '../../../runtime/s3-address.ts'
import type { SharedBlobs } from '../shared-blobs.ts'
import { BlobFiles } from './blob-files.ts'
import { CredentialChain, readConfiguredRegion } from './credentials.ts'
import { S3BlobStore } from './s3-blob-store.ts'
import { S3Client, type S3Figures } from './s3-client.ts'
import { hasStatus } from './s3-failure.ts'
import { isConditionUnknown } from './upload.ts'

export interface S3BlobsOptions {
  address: S3Address
  credentialsFile: string | null
  cacheBytes: number
  cacheDirectory: string
  clock: Clock
  random: Random
  logger: Logger
  environment?: Readonly<Record<string, string | undefined>>
  homeDirectory?: string
  graceMs?: number
}

export interface S3Blobs extends SharedBlobs {
  store: S3BlobStore
  figures(): S3Figures
  cacheFigures(): CacheFigures
}

const CHECKED_EVERY_MS = 30_000
const DEFAULT_REGION = 'us-east-1'
const IS_NEAR = /^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::|$)/

/**
 * Checks on startup for problems that an operator must solve. Rejects with BLOBS_UNUSABLE unless the bucket can be
 * listed, written, read in ranges and deleted from. Rejects with DATA_DIRECTORY_UNUSABLE if the cache directory
 * cannot be used.
 */
export async function openS3Blobs(options: S3BlobsOptions): Promise<S3Blobs> {
  const { address, clock, random, logger, environment = process.env, homeDirectory = homedir() } = options
  const sources = { environment, homeDirectory, profile: address.profile }
  const credentials = new CredentialChain({ ...sources, file: options.credentialsFile, clock })
  const region =
    address.region ||
    environment['AWS_REGION'] ||
    environment['AWS_DEFAULT_REGION'] ||
    (await readConfiguredRegion(sources)) ||
    DEFAULT_REGION
  const files = new BlobFiles(options.cacheDirectory, options.cacheBytes, { clock, random })
  const client = new S3Client({ address, region, credentials, clock, random })
  let isConditional: boolean
  try {
    isConditional = await checkRights(client, `${address.prefix}probe/${random.hex(8)}`, logger)
  } catch (error) {
    await client.stop()
    throw client.explain(error)
  }
  const store = new S3BlobStore({ client, files, clock, logger, isConditional, graceMs: options.graceMs })
  if (address.endpoint?.startsWith('http:') === true && !IS_NEAR.test(address.endpoint))
    logger.warn({ endpoint: address.endpoint }, 'eggs and logs travel unencrypted to the S3 server: use https')
  let checkedAtMs = clock.monotonicMs()
  return {
    name: address.name,
    ifForeign: 'Choose another prefix. If that store no longer exists, delete the object owner/store under the prefix.',
    store,
    async check() {
      if (clock.monotonicMs() - checkedAtMs >= CHECKED_EVERY_MS || client.problem !== null) {
        checkedAtMs = clock.monotonicMs()
        await client.send({ ...listOne(address), tries: 1 }).catch(() => {})
      }
      return describeProblem(client.problem)
    },
    state: () => ({ problem: client.problem, disk: null }),
    figures: () => client.figures,
    cacheFigures: () => files.figures(),
    stop: () => client.stop()
  }
}

const listOne = (address: S3Address) => ({
  operation: 'list',
  method: 'GET' as const,
  key: '',
  query: { 'list-type': '2', prefix: address.prefix, 'max-keys': '1' }
})

/** Checks all permissions with a temporary object. Resolves to whether the server supports conditional writes. */
async function checkRights(client: S3Client, key: string, logger: Logger): Promise<boolean> {
  await client.send(listOne(client.address))
  const body = Buffer.from('written by Scrapdeck at its start, and deleted again')
  const headers = encryptionHeaders(client.address)
  const put = { operation: 'put', method: 'PUT' as const, key, body, headers }
  await client.send(put)
  try {
    const range = await client.stream({
      operation: 'get_range',
      method: 'GET',
      key,
      headers: { range: 'bytes=8-17' }
    })
    let text = ''
    for await (const piece of range.body) text += String(piece)
    if (range.status !== 206 || text !== body.subarray(8, 18).toString()) {
      const what = 'the server ignores ranges. Use another server.'
      throw new ScrapdeckError(
        'BLOBS_UNUSABLE',
        sentence('storage.bucket_unusable', { address: client.address.name, what })
      )
    }
    await client.send({ ...put, headers: { ...headers, 'if-none-match': '*' } })
    logger.warn({}, 'the S3 server ignores conditional writes: two engines must not write the same blob')
    return false
  } catch (error) {
    if (hasStatus(error, 412, 409)) return true
    if (!isConditionUnknown(error)) throw error
    logger.warn({}, 'the S3 server does not know conditional writes: two engines must not write the same blob')
    return false
  } finally {
    await client.send({ operation: 'delete', method: 'DELETE', key })
  }
}

/** Contains no names, because anyone can see this without credentials. */
function describeProblem(problem: ScrapdeckError | null): string | null {
  if (problem === null) return null
  const { status, code } =
    (problem.cause as { failure?: { status: number | null; code: string } } | undefined)?.failure ?? {}
  if (status === null || status === undefined) return 'The blob storage (S3) does not respond'
  if (code === 'QuotaExceeded' || code === 'InsufficientStorage') return 'The blob storage (S3) is full'
  if (status >= 500 || status === 429) return 'The blob storage (S3) is overloaded or failing'
  return 'The blob storage (S3) refuses requests: see the log of Scrapdeck'
}
