import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { S3Address } from '../../../runtime/s3-address.ts'

export interface S3Failure {
  operation: string
  status: number | null
  /** The code in the response's XML, or the system's name for a failed connection. */
  code: string
  message: string
  region: string | null
  clockOffsetMs: number | null
}

export class S3Error extends Error {
  readonly failure: S3Failure

  constructor(failure: S3Failure, cause?: unknown) {
    super(`${failure.operation}: ${failure.status ?? 'no answer'} ${failure.code} ${failure.message}`, { cause })
    this.name = 'S3Error'
    this.failure = failure
  }
}

export const hasStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof S3Error && error.failure.status !== null && statuses.includes(error.failure.status)

/** Whether an object or upload (but not the bucket) is missing. A response to HEAD has only the status 404. */
export const isGone = (error: unknown): boolean =>
  error instanceof S3Error &&
  error.failure.status === 404 &&
  ['', 'NoSuchKey', 'NoSuchUpload', 'NoSuchVersion'].includes(error.failure.code)

const RETRIED = new Set([408, 429, 500, 502, 503, 504])
const RETRIED_CODES = new Set(['RequestTimeout', 'OperationAborted', 'ConditionalRequestConflict', 'SlowDown'])
/** Connection failures that do not go away within several seconds, so a retry is useless. */
const FINAL_CODES = /^(ERR_TLS|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_SSL|ABORTED)/

export function isPassing({ status, code }: S3Failure): boolean {
  if (status === null) return !FINAL_CODES.test(code)
  return RETRIED.has(status) || RETRIED_CODES.has(code)
}

export const isAboutCredentials = ({ code }: S3Failure): boolean => ABOUT_CREDENTIALS.has(code)

const ABOUT_CREDENTIALS = new Set([
  ...['InvalidAccessKeyId', 'XAdminUserNotFound', 'SignatureDoesNotMatch'],
  ...['ExpiredToken', 'InvalidToken', 'TokenRefreshRequired']
])

/** Whether the failure concerns the whole storage or our access to it, not a single object. Pure. */
export const isOfStorage = (failure: S3Failure): boolean =>
  failure.code !== 'ABORTED' &&
  (failure.status === null ||
    failure.status >= 500 ||
    [400, 401, 403, 301, 307, 429].includes(failure.status) ||
    failure.code === 'NoSuchBucket' ||
    isAboutCredentials(failure))

export function explainFailure(failure: S3Failure, address: S3Address, from: string): ScrapdeckError {
  const text = sentence('storage.bucket_failed', { address: address.name, failure: problemOf(failure, address, from) })
  return new ScrapdeckError('BLOBS_UNUSABLE', text, { data: { problem: failure.code }, cause: new S3Error(failure) })
}

function problemOf(failure: S3Failure, { bucket, endpoint }: S3Address, from: string): string {
  const { operation, status, code, message, region, clockOffsetMs } = failure
  switch (code) {
    case 'InvalidAccessKeyId':
    case 'XAdminUserNotFound':
      return `the server does not know the access key id (${from}). Correct it, or create a key there.`
    case 'SignatureDoesNotMatch':
      return `the secret key does not fit the access key id (${from}). Enter it again, complete and without spaces.`
    case 'ExpiredToken':
    case 'InvalidToken':
    case 'TokenRefreshRequired':
      return `the session token has expired or is not valid (${from}). Renew the credentials.`
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return `the clock of this machine and that of the server differ${byHowMuch(clockOffsetMs)}. Set the clock, for example with NTP.`
    case 'NoSuchBucket':
      return `there is no bucket ${bucket}. Create it, or correct its name.`
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'AccountProblem':
      return `the access key has no right to this: ${operation}. It needs ListBucket, GetObject, PutObject and DeleteObject (${from}).`
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException': {
      const where = region === null ? 'another region' : `the region ${region}`
      return `the bucket is in ${where}. Add region=${region ?? 'REGION'} to the address.`
    }
    case 'InvalidBucketName':
      return `the server does not accept the bucket's name ${bucket}. Correct the address.`
    case 'QuotaExceeded':
    case 'XMinioStorageFull':
    case 'InsufficientStorage':
      return 'it has no room left. Free some there, or raise the quota.'
    case 'SlowDown':
    case 'ServiceUnavailable':
      return 'the server is overloaded. Scrapdeck tries again by itself.'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `its host name is unknown (${message}). Correct the address, or check DNS.`
    case 'ECONNREFUSED':
      return `nothing listens at ${endpoint ?? 'its address'}. Start the server, or correct host and port.`
    case 'NOT_S3':
      return `what answers at ${endpoint ?? 'its address'} is not S3 (${message}). Correct the endpoint.`
    case 'NO_CREDENTIALS':
      return message
  }
  if (status === null && /^(ERR_TLS|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/.test(code))
    return `its certificate cannot be trusted (${code}). Name a private CA in NODE_EXTRA_CA_CERTS, or correct the certificate.`
  if (status === null && /^(EPROTO|ERR_SSL)/.test(code))
    return 'it does not speak TLS as expected. Check http:// and https:// in the endpoint.'
  if (status === null) return `it does not respond (${code}). Check the network and the server.`
  if (status === 401 || status === 403)
    return `the server refused this: ${operation} (${code || status}${message === '' ? '' : `: ${message}`}). Check the rights of the access key (${from}).`
  return `${operation} failed with ${status} ${code}${message === '' ? '' : ` (${message})`}.`
}

function byHowMuch(offsetMs: number | null): string {
  if (offsetMs === null) return ''
  const minutes = Math.round(Math.abs(offsetMs) / 60_000)
  return ` by ${minutes} min: this machine is ${offsetMs > 0 ? 'behind' : 'ahead'}`
}
