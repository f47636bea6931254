import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import type { Clock } from '../../../runtime/clock.ts'
import { PLAIN_BODIES, requirePlainBody } from '../../../runtime/plain-bodies.ts'
import { S3Error } from './s3-failure.ts'
import { textOf } from './s3-xml.ts'

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | null
  expiresAtMs: number | null
  /** For messages: where the credentials come from, such as `the variable AWS_ACCESS_KEY_ID`. Never a secret. */
  from: string
}

export interface CredentialSources {
  /** Scrapdeck's own file (`blobs_credentials_file`), in the shared format. If set, no other source is used. */
  file: string | null
  /** The profile in the S3 address. If set, only the shared file is used. */
  profile: string | null
  environment: Readonly<Record<string, string | undefined>>
  homeDirectory: string
  clock: Pick<Clock, 'nowMs'>
}

const EARLY_MS = 300_000
/**
 * The time limit for metadata services, which run on this machine or its host. A missing service must not delay startup
 * for long.
 */
const METADATA_LIMIT_MS = 2_000
const ANSWER_MAX_BYTES = 65_536
const IMDS = 'http://169.254.169.254'
/** Hosts of credential services for containers: this machine, or the addresses of ECS and EKS. */
const CONTAINER_HOSTS = new Set([
  '169.254.170.2',
  '169.254.170.23',
  '[fd00:ec2::23]',
  'localhost',
  '127.0.0.1',
  '[::1]'
])

/**
 * Reads credentials from Scrapdeck's own file or the standard chain: environment, shared file, web identity (EKS),
 * container (ECS, EKS) or machine (EC2). Renews them before they expire.
 */
export class CredentialChain {
  readonly #sources: CredentialSources
  #current: Promise<Credentials> | null = null
  #from = 'no credentials yet'

  constructor(sources: CredentialSources) {
    this.#sources = sources
  }

  get from(): string {
    return this.#from
  }

  /** Rejects with the S3Error NO_CREDENTIALS, which names all sources that were tried. */
  async get(): Promise<Credentials> {
    const current = (this.#current ??= this.#read())
    const credentials = await current.catch((error: unknown) => {
      this.#current = null
      throw error
    })
    const { expiresAtMs } = credentials
    const leftMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - this.#sources.clock.nowMs()
    if (leftMs > EARLY_MS) return credentials
    if (this.#current === current) {
      this.#current = this.#read().catch((error: unknown) => {
        if (leftMs > 0) return credentials
        throw error
      })
    }
    return await this.#current!
  }

  /** Call this if the credentials may have been replaced since they were read. */
  forget(): void {
    this.#current = null
  }

  async #read(): Promise<Credentials> {
    const { file, profile, environment } = this.#sources
    const named = profile ?? environment['AWS_PROFILE'] ?? 'default'
    const found =
      file !== null
        ? await fromFile(file, named, true)
        : ((profile === null ? fromEnvironment(environment) : null) ??
          (await fromFile(this.#sharedFile(), named, profile !== null)) ??
          (await this.#fromWebIdentity()) ??
          (await this.#fromContainer()) ??
          (await this.#fromMachine()))
    if (found === null)
      throw missing(
        'there are no credentials: no variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, no shared credentials file, no role of this machine or container. Set the variables, or name a file with blobs_credentials_file.'
      )
    this.#from = found.from
    return found
  }

  #sharedFile(): string {
    const { environment, homeDirectory } = this.#sources
    return environment['AWS_SHARED_CREDENTIALS_FILE'] || join(homeDirectory, '.aws', 'credentials')
  }

  async #fromWebIdentity(): Promise<Credentials | null> {
    const { environment } = this.#sources
    const tokenFile = environment['AWS_WEB_IDENTITY_TOKEN_FILE']
    const role = environment['AWS_ROLE_ARN']
    if (!tokenFile || !role) return null
    const token = (await readFile(tokenFile, 'utf8').catch(() => '')).trim()
    if (token === '') throw missing(`the token in ${tokenFile} (AWS_WEB_IDENTITY_TOKEN_FILE) cannot be read.`)
    const region = environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION']
    const endpoint = environment['AWS_ENDPOINT_URL_STS'] || `https://sts${region ? `.${region}` : ''}.amazonaws.com`
    const body = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      WebIdentityToken: token,
      RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] || 'scrapdeck'
    })
    const { status, text } = await ask(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: body.toString()
    })
    const get = (name: string) => textOf(text, name)
    if (status !== 200)
      throw missing(`the role ${role} cannot be assumed (${status} ${get('Code') ?? ''}). Check its trust policy.`)
    return complete(
      {
        AccessKeyId: get('AccessKeyId'),
        SecretAccessKey: get('SecretAccessKey'),
        Token: get('SessionToken'),
        Expiration: get('Expiration')
      },
      `the role ${role}`
    )
  }

  async #fromContainer(): Promise<Credentials | null> {
    const { environment } = this.#sources
    const relative = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI']
    const full = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI']
    if (!relative && !full) return null
    const url = URL.parse(relative ? `http://169.254.170.2${relative}` : full!)
    if (url === null || (url.protocol !== 'https:' && !CONTAINER_HOSTS.has(url.hostname)))
      throw missing('AWS_CONTAINER_CREDENTIALS_FULL_URI is neither on this machine nor https.')
    const tokenFile = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
    const token = tokenFile
      ? (await readFile(tokenFile, 'utf8').catch(() => '')).trim()
      : environment['AWS_CONTAINER_AUTHORIZATION_TOKEN']
    const { status, text } = await ask(url.href, { headers: token ? { authorization: token } : {} })
    if (status !== 200) throw missing(`the credentials of this container cannot be read (${status}).`)
    return complete(parse(text), 'the role of this container')
  }

  async #fromMachine(): Promise<Credentials | null> {
    const { environment } = this.#sources
    if (environment['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true') return null
    const base = `${environment['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || IMDS}/latest`
    const roles = 'meta-data/iam/security-credentials/'
    try {
      const lifetime = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
      const token = await ask(`${base}/api/token`, { method: 'PUT', headers: lifetime })
      if (token.status !== 200) return null
      const headers = { 'x-aws-ec2-metadata-token': token.text }
      const role = await ask(`${base}/${roles}`, { headers })
      const name = role.text.trim().split('\n')[0]!
      if (role.status !== 200 || name === '') return null
      const answer = await ask(`${base}/${roles}${encodeURIComponent(name)}`, { headers })
      return answer.status === 200 ? complete(parse(answer.text), `the role ${name} of this machine`) : null
    } catch {
      return null
    }
  }
}

function fromEnvironment(environment: CredentialSources['environment']): Credentials | null {
  const accessKeyId = environment['AWS_ACCESS_KEY_ID']?.trim()
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY']?.trim()
  if (!accessKeyId || !secretAccessKey) return null
  const sessionToken = environment['AWS_SESSION_TOKEN']?.trim() || null
  return { accessKeyId, secretAccessKey, sessionToken, expiresAtMs: null, from: 'the variable AWS_ACCESS_KEY_ID' }
}

/** Returns null if there is no such file or profile; if `isNamed`, throws instead. */
async function fromFile(path: string, profile: string, isNamed: boolean): Promise<Credentials | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !isNamed) return null
    throw missing(`the credentials file ${path} cannot be read (${code}). Correct its name or its permissions.`)
  }
  const values = readProfile(text, profile)
  const accessKeyId = values?.get('aws_access_key_id')
  const secretAccessKey = values?.get('aws_secret_access_key')
  if (!accessKeyId || !secretAccessKey) {
    if (!isNamed) return null
    const what = `[${profile}] with aws_access_key_id and aws_secret_access_key`
    throw missing(`the credentials file ${path} has no section ${what}. Add it, or choose another profile.`)
  }
  const sessionToken = values?.get('aws_session_token') || null
  return { accessKeyId, secretAccessKey, sessionToken, expiresAtMs: null, from: `profile ${profile} in ${path}` }
}

export async function readConfiguredRegion(sources: Omit<CredentialSources, 'clock' | 'file'>): Promise<string | null> {
  const { environment, homeDirectory, profile } = sources
  const path = environment['AWS_CONFIG_FILE'] || join(homeDirectory, '.aws', 'config')
  const text = await readFile(path, 'utf8').catch(() => '')
  return readProfile(text, profile ?? environment['AWS_PROFILE'] ?? 'default')?.get('region') || null
}

type Found = Record<'AccessKeyId' | 'SecretAccessKey' | 'Token' | 'Expiration', unknown>

function parse(text: string): Found {
  try {
    return JSON.parse(text) as Found
  } catch {
    throw missing('what should be credentials is not JSON.')
  }
}

function complete({ AccessKeyId, SecretAccessKey, Token, Expiration }: Found, from: string): Credentials {
  const isComplete = typeof AccessKeyId === 'string' && typeof SecretAccessKey === 'string' && AccessKeyId !== ''
  if (!isComplete) throw missing(`${from} gave incomplete credentials.`)
  const expiresAtMs = typeof Expiration === 'string' ? Date.parse(Expiration) : Number.NaN
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    from,
    sessionToken: typeof Token === 'string' && Token !== '' ? Token : null,
    expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs
  }
}

async function ask(
  url: string,
  options: { method?: 'GET' | 'PUT' | 'POST'; headers?: Record<string, string>; body?: string }
): Promise<{ status: number; text: string }> {
  const { method = 'GET', headers = {}, body = null } = options
  const limits = { headersTimeout: METADATA_LIMIT_MS, bodyTimeout: METADATA_LIMIT_MS }
  const signal = AbortSignal.timeout(2 * METADATA_LIMIT_MS)
  try {
    const answer = await request(url, { method, headers: { ...headers, ...PLAIN_BODIES }, body, signal, ...limits })
    requirePlainBody(answer, 'it')
    let text = ''
    for await (const piece of answer.body) {
      text += String(piece)
      if (text.length > ANSWER_MAX_BYTES) throw new Error('its answer is too long')
    }
    return { status: answer.statusCode, text }
  } catch (error) {
    throw missing(`${new URL(url).host} does not give credentials (${(error as Error).message}).`, error)
  }
}

function missing(message: string, cause?: unknown): S3Error {
  const code = 'NO_CREDENTIALS'
  const where = { status: 400, region: null, clockOffsetMs: null }
  return new S3Error({ operation: 'reading credentials', code, message, ...where }, cause)
}

/** Reads a section of an AWS INI file: `[default]`, or in the config file also `[profile name]`. Pure. */
function readProfile(text: string, profile: string): Map<string, string> | null {
  let found: Map<string, string> | null = null
  let isInside = false
  for (const line of text.split(/\r?\n/)) {
    const section = /^\s*\[\s*(?:profile\s+)?([^\]]*?)\s*\]/.exec(line)?.[1]
    if (section !== undefined) {
      isInside = section === profile
      if (isInside) found ??= new Map()
      continue
    }
    const [, key, value] = /^([A-Za-z0-9_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (isInside && key !== undefined) found?.set(key.toLowerCase(), value!)
  }
  return found
}
