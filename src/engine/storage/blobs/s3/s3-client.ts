import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher } from 'undici'
import type { ScrapdeckError } from '../../../../shared/errors.ts'
import { type Clock, sleep } from '../../../runtime/clock.ts'
import { discard, encodingProblem, PLAIN_BODIES } from '../../../runtime/plain-bodies.ts'
import type { Random } from '../../../runtime/random.ts'
import { type S3Address, s3Url } from '../../../runtime/s3-address.ts'
import type { CredentialChain } from './credentials.ts'
import { explainFailure, isAboutCredentials, isOfStorage, isPassing, S3Error, type S3Failure } from './s3-failure.ts'
import { textOf } from './s3-xml.ts'

export interface S3Request {
  /** The name in messages and metrics, such as `get` or `put`. */
  operation: string
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Includes the prefix. Empty: the bucket itself. */
  key: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array | null
  tries?: number
  signal?: AbortSignal | undefined
}

export interface S3Answer {
  status: number
  headers: Record<string, string>
  text: string
}

export interface S3Stream {
  status: number
  headers: Record<string, string>
  body: Readable
}

export interface S3Figures {
  requests: Map<string, { answered: number; refused: number; failed: number; seconds: number }>
  retries: number
  sentBytes: number
  receivedBytes: number
}

const TRIES = 5
const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 5_000
const CONNECT_MS = 5_000
/** The maximum time from the last byte of a request to the response's headers, and between two pieces of its body. */
const ANSWER_MS = 20_000
/** The maximum time for one attempt including its body. A part of 8 MB at 70 kB/s takes this long. */
const TRY_MS = 120_000
const CONNECTIONS = 32
const TEXT_MAX_BYTES = 8 * 1024 * 1024
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** The delay before attempt `count + 1`, with full jitter: clients that failed together must not retry together. */
export const retryDelayMs = (count: number, random: Pick<Random, 'next'>): number =>
  Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** count) * random.next()

/** Sends signed requests to one bucket, with retries. Rejects with S3Error. */
export class S3Client {
  readonly address: S3Address
  readonly region: string
  readonly #parts: {
    credentials: CredentialChain
    clock: Clock
    random: Pick<Random, 'next'>
    answerMs: number
  }
  readonly #agent: Agent
  readonly #stopping = new AbortController()
  readonly #signingKeys = new Map<string, ArrayBuffer>()
  readonly figures: S3Figures = { requests: new Map(), retries: 0, sentBytes: 0, receivedBytes: 0 }
  #problem: ScrapdeckError | null = null

  constructor(parts: {
    address: S3Address
    region: string
    credentials: CredentialChain
    clock: Clock
    random: Pick<Random, 'next'>
    answerMs?: number
  }) {
    const { address, region, answerMs = ANSWER_MS, ...others } = parts
    this.address = address
    this.region = region
    this.#parts = { ...others, answerMs }
    this.#agent = new Agent({
      connections: CONNECTIONS,
      allowH2: false,
      pipelining: 1,
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
      connect: { timeout: CONNECT_MS }
    })
  }

  get problem(): ScrapdeckError | null {
    return this.#problem
  }

  send(request: S3Request): Promise<S3Answer> {
    return this.#withRetries(request, async (answer) => {
      const text = await this.#readText(answer.body)
      // Copying an object or completing an upload can fail after the server has sent the response headers.
      if (answer.status === 200 && request.method !== 'GET' && text.includes('<Error>'))
        throw new S3Error(this.#failureOf(request, { ...answer, status: 500 }, text))
      return { status: answer.status, headers: answer.headers, text }
    })
  }

  /**
   * The caller must read or destroy the body. Interrupted transfers are not retried, because only the reader knows
   * where to continue.
   */
  stream(request: S3Request): Promise<S3Stream> {
    return this.#withRetries(request, async (answer) => answer)
  }

  countReceived(bytes: number): void {
    this.figures.receivedBytes += bytes
  }

  explain(error: unknown): unknown {
    if (!(error instanceof S3Error)) return error
    return explainFailure(error.failure, this.address, this.#parts.credentials.from)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#agent.destroy()
  }

  async #withRetries<T>(request: S3Request, read: (answer: S3Stream) => Promise<T>): Promise<T> {
    const { clock, random, credentials } = this.#parts
    const signal = anyOf(this.#stopping.signal, request.signal)
    let areRenewed = false
    for (let count = 0; ; count += 1) {
      try {
        const answer = await this.#once(request, signal, read)
        this.#problem = null
        return answer
      } catch (error) {
        if (!(error instanceof S3Error) || signal.aborted) throw error
        const { failure } = error
        if (isAboutCredentials(failure) && !areRenewed) {
          areRenewed = true
          credentials.forget()
          this.#signingKeys.clear()
          continue
        }
        const isLast = count + 1 >= (request.tries ?? TRIES)
        if (isPassing(failure) && !isLast) {
          this.figures.retries += 1
          await sleep(clock, retryDelayMs(count, random), signal)
          if (!signal.aborted) continue
        }
        if (isOfStorage(failure)) this.#problem = this.explain(error) as ScrapdeckError
        else this.#problem = null
        throw error
      }
    }
  }

  async #once<T>(request: S3Request, signal: AbortSignal, read: (answer: S3Stream) => Promise<T>): Promise<T> {
    const { clock } = this.#parts
    const beganMs = clock.monotonicMs()
    const body = request.body ?? null
    const { url, headers } = await this.#sign(request, body)
    const aborting = new AbortController()
    const limit = clock.setTimer(TRY_MS, () => aborting.abort(new Error('TRY_TIMEOUT')))
    let answer: S3Stream | null = null
    try {
      const {
        statusCode,
        headers: answered,
        body: stream
      } = await this.#agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: { ...headers, ...PLAIN_BODIES },
        body,
        signal: anyOf(aborting.signal, signal)
      })
      this.figures.sentBytes += body?.length ?? 0
      answer = { status: statusCode, headers: flatten(answered), body: stream }
      const problem = encodingProblem(answered['content-encoding'])
      if (problem !== null) {
        const { operation } = request
        const message = `it ${problem}`
        throw new S3Error({ operation, status: statusCode, code: 'NOT_S3', message, region: null, clockOffsetMs: null })
      }
      if (statusCode >= 300) throw new S3Error(this.#failureOf(request, answer, await this.#readText(stream)))
      const result = await read(answer)
      this.#count(request, 'answered', beganMs)
      return result
    } catch (error) {
      if (answer !== null) discard(answer.body)
      this.#count(request, error instanceof S3Error && error.failure.status !== null ? 'refused' : 'failed', beganMs)
      throw error instanceof S3Error ? error : this.#noAnswer(request, error, signal)
    } finally {
      limit.cancel()
    }
  }

  async #sign(request: S3Request, body: Uint8Array | null) {
    const { credentials, clock } = this.#parts
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials.get()
    const url = s3Url(this.address, this.region, request.key)
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    const sha256 = body === null ? EMPTY_SHA256 : Buffer.from(await digest(body)).toString('hex')
    // The server verifies the content with this checksum before it stores it.
    const headers: Record<string, string> = { ...request.headers, 'x-amz-content-sha256': sha256 }
    const signed = await new AwsV4Signer({
      method: request.method,
      url: url.href,
      headers,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === null ? {} : { sessionToken }),
      service: 's3',
      region: this.region,
      cache: this.#signingKeys,
      datetime: new Date(clock.nowMs()).toISOString().replace(/[:-]|\.\d{3}/g, '')
    }).sign()
    return { url: signed.url, headers: Object.fromEntries(signed.headers) }
  }

  #failureOf(request: S3Request, { status, headers }: S3Stream, text: string): S3Failure {
    const { clock } = this.#parts
    const serverMs = Date.parse(headers['date'] ?? '')
    const code = textOf(text, 'Code')
    // Responses to HEAD have no body. Any other error without S3's XML is from another server.
    const isForeign = code === null && request.method !== 'HEAD' && ![301, 307, 304, 404, 412, 416].includes(status)
    const isBusy = status >= 500
    return {
      operation: request.operation,
      status,
      code: code ?? (status === 301 || status === 307 ? 'PermanentRedirect' : isForeign && !isBusy ? 'NOT_S3' : ''),
      message: oneLine(textOf(text, 'Message') ?? (isForeign ? `status ${status}` : '')),
      region: headers['x-amz-bucket-region'] ?? textOf(text, 'Region'),
      clockOffsetMs: Number.isNaN(serverMs) ? null : serverMs - clock.nowMs()
    }
  }

  #noAnswer({ operation }: S3Request, error: unknown, signal: AbortSignal): S3Error {
    const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error
    const { code, message } = cause as NodeJS.ErrnoException
    const shown = signal.aborted ? 'ABORTED' : (code ?? (message === 'TRY_TIMEOUT' ? 'ETIMEDOUT' : 'CONNECTION'))
    const unknown = { status: null, region: null, clockOffsetMs: null }
    return new S3Error({ operation, code: String(shown), message: oneLine(message), ...unknown }, error)
  }

  async #readText(body: Readable): Promise<string> {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > TEXT_MAX_BYTES) throw new Error('the answer is too long')
      pieces.push(piece)
    }
    this.countReceived(bytes)
    return Buffer.concat(pieces).toString('utf8')
  }

  #count({ operation }: S3Request, result: 'answered' | 'refused' | 'failed', beganMs: number): void {
    const { requests } = this.figures
    const one = requests.get(operation) ?? { answered: 0, refused: 0, failed: 0, seconds: 0 }
    one[result] += 1
    one.seconds += (this.#parts.clock.monotonicMs() - beganMs) / 1_000
    requests.set(operation, one)
  }
}

const digest = (bytes: Uint8Array): Promise<ArrayBuffer> =>
  crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)

const anyOf = (first: AbortSignal, second: AbortSignal | undefined): AbortSignal =>
  second === undefined ? first : AbortSignal.any([first, second])

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) flat[name] = String(value)
  return flat
}

const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, 300)
