import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'

/** Contains no secrets, which come from the environment or a file. */
export interface S3Address {
  bucket: string
  /** Precedes the name of each object. Empty, or ends with a slash. */
  prefix: string
  /** Such as `https://minio.example:9000`. null: Amazon's endpoint in the region. */
  endpoint: string | null
  /** null: from the environment or the shared configuration. */
  region: string | null
  isPathStyle: boolean
  profile: string | null
  /** Server-side encryption, requested with each object. null: the default of the bucket. */
  encryption: S3Encryption | null
  name: string
}

export interface S3Encryption {
  method: 'AES256' | 'aws:kms' | 'aws:kms:dsse'
  keyId: string | null
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/
const PREFIX_MAX = 400
const REGION = /^[a-z0-9-]{1,40}$/
const PARAMETERS = ['endpoint', 'region', 'style', 'profile', 'sse', 'sse_key']
const METHODS: readonly string[] = ['AES256', 'aws:kms', 'aws:kms:dsse']
const KEY_ID = /^[A-Za-z0-9:/_-]{1,300}$/

export const isS3Address = (text: string): boolean => /^s3:/i.test(text)

/** Parses `s3://bucket/prefix?endpoint=…&region=…&style=path|virtual&profile=…&sse=…&sse_key=…`. Throws BAD_INPUT. */
export function parseS3Address(text: string): S3Address {
  // Parsed as http, because URL does not treat the bucket as a host name for other schemes.
  const match = /^s3:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/i.exec(text.trim())
  if (match === null) throw refuse(sentence('storage.s3_not_an_address'))
  const [, bucket = '', path = '', query = ''] = match
  if (bucket.includes('@') || bucket.includes(':')) throw refuse(sentence('storage.s3_address_has_credentials'))
  if (!BUCKET.test(bucket)) throw refuse(sentence('storage.s3_bucket_invalid', { bucket: JSON.stringify(bucket) }))
  const folders = path.replace(/^\/|\/$/g, '')
  const prefix = folders === '' ? '' : `${folders}/`
  if (!PREFIX.test(prefix) || prefix.length > PREFIX_MAX)
    throw refuse(sentence('storage.s3_prefix_invalid', { prefix: JSON.stringify(folders) }))
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name))
      throw refuse(sentence('storage.s3_parameter_unknown', { name: JSON.stringify(name), known: PARAMETERS }))
  const endpoint = readEndpoint(parameters.get('endpoint'))
  const region = parameters.get('region') || null
  if (region !== null && !REGION.test(region))
    throw refuse(sentence('storage.s3_region_invalid', { region: JSON.stringify(region) }))
  const style = parameters.get('style') ?? (endpoint === null && !bucket.includes('.') ? 'virtual' : 'path')
  if (style !== 'path' && style !== 'virtual') throw refuse(sentence('storage.s3_style_invalid'))
  const name = `s3://${bucket}/${folders}${endpoint === null ? '' : ` at ${new URL(endpoint).host}`}`
  const encryption = readS3Encryption(parameters)
  const profile = parameters.get('profile')
  return { bucket, prefix, endpoint, region, isPathStyle: style === 'path', profile, encryption, name }
}

function readS3Encryption(parameters: URLSearchParams): S3Encryption | null {
  const method = parameters.get('sse') || null
  const keyId = parameters.get('sse_key') || null
  if (method === null && keyId === null) return null
  if (method === null || !METHODS.includes(method))
    throw refuse(sentence('storage.s3_sse_invalid', { methods: METHODS }))
  if (keyId !== null && (method === 'AES256' || !KEY_ID.test(keyId)))
    throw refuse(sentence('storage.s3_sse_key_invalid'))
  return { method: method as S3Encryption['method'], keyId }
}

export const encryptionHeaders = ({ encryption }: Pick<S3Address, 'encryption'>): Record<string, string> =>
  encryption === null
    ? {}
    : {
        'x-amz-server-side-encryption': encryption.method,
        ...(encryption.keyId === null ? {} : { 'x-amz-server-side-encryption-aws-kms-key-id': encryption.keyId })
      }

function readEndpoint(text: string | null): string | null {
  if (text === null || text === '') return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw refuse(sentence('storage.s3_endpoint_not_http'))
  if (url.username !== '' || url.password !== '') throw refuse(sentence('storage.s3_endpoint_has_credentials'))
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw refuse(sentence('storage.s3_endpoint_has_path'))
  return url.origin
}

/** The address of one object, or of the bucket if `key` is empty. `region`: for Amazon's own endpoint. */
export function s3Url(address: S3Address, region: string, key: string): URL {
  const { bucket, endpoint, isPathStyle } = address
  const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`)
  if (!isPathStyle) base.hostname = `${bucket}.${base.hostname}`
  base.pathname = `${isPathStyle ? `/${bucket}` : ''}/${key}`
  return base
}

const refuse = (problem: Sentence) =>
  new ScrapdeckError('BAD_INPUT', sentence('storage.s3_address_invalid', { problem }))
