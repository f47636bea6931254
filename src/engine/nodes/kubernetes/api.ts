import type { z } from 'zod'
import { problemOfJsonText } from '../../../shared/json-text.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { CredentialFile } from '../../../shared/texts/en-node-errors.ts'
import { say } from '../../../shared/texts/message.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { fromProxy, kindOfGateway, NodeError } from '../node-client.ts'
import { LISTED_MAX } from '../list-limits.ts'
import { failure } from '../node-failure.ts'
import { type AnswerHead, type Connection, collectBody, type NodeRequest } from '../scrapyd/connection.ts'
import type { CredentialFiles } from './credential-files.ts'
import { ApiStatus, ListPage } from './objects.ts'

export interface ApiRequest {
  method?: NodeRequest['method']
  path: string
  query?: Record<string, string>
  body?: unknown
  contentType?: string
  timeoutMs?: number
  limitBytes?: number
}

export interface ApiAnswer {
  status: number
  head: AnswerHead
  value: unknown
}

const TIMEOUT_MS = 10_000
const ANSWER_MAX_BYTES = 8_000_000
/** The number of objects per page, small enough that parsing a page does not block the event loop. */
const PAGE = 100
/**
 * The maximum number of pages, in case a server sends endless pages. Twice the necessary number, because pages can
 * be empty.
 */
const PAGES_MAX = (2 * LISTED_MAX.jobs) / PAGE
const BOUNDS = { depth: 100, values: 1_000_000, fields: 100_000 }

export class KubernetesApi {
  readonly #connection: Connection
  readonly #token: () => Promise<string | null>

  constructor(connection: Connection, token: () => Promise<string | null>) {
    this.#connection = connection
    this.#token = token
  }

  get label(): string {
    return this.#connection.label
  }

  /** Rejects if the API itself does not respond: no connection, a page from a proxy, a rejected token. */
  async ask(request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
    const collected = collectBody(request.limitBytes ?? ANSWER_MAX_BYTES)
    const head = await this.send(request, collected.receive, signal)
    const text = collected.body().toString('utf8')
    return { status: head.status, head, value: this.#parse(head, text, request.path) }
  }

  /** Rejects for any status other than 2xx. */
  async get(request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
    const answer = await this.ask(request, signal)
    if (answer.status >= 300) throw this.errorOf(answer, request)
    return answer
  }

  async send(request: ApiRequest, receive: NodeRequest['receive'], signal?: AbortSignal): Promise<AnswerHead> {
    const { method = 'GET', path, query, body, contentType = 'application/json', timeoutMs = TIMEOUT_MS } = request
    const token = await this.#token()
    const text = query === undefined ? path : `${path}?${String(new URLSearchParams(query))}`
    const headers = {
      accept: 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': contentType })
    }
    return this.#connection.send(
      { method, path: text, headers, timeoutMs, receive, ...(body !== undefined && { body: JSON.stringify(body) }) },
      signal
    )
  }

  /**
   * Lists all objects of a kind with our label, in pages of one consistent snapshot. Starts again if the snapshot
   * expires between two pages (410). Rejects if there are more objects than PAGES_MAX allows.
   */
  async list<T>(
    path: string,
    labelSelector: string,
    schema: z.ZodType<T>,
    signal?: AbortSignal
  ): Promise<{ items: T[]; resourceVersion: string; head: AnswerHead }> {
    for (let begun = 1; ; begun += 1) {
      const listed = await this.#listOnce(path, labelSelector, schema, signal)
      if (listed !== 'expired') return listed
      if (begun === LISTS_BEGUN_MAX) {
        throw failure('http', say('node_error.changes_too_fast', { label: this.label, path }), 'no')
      }
    }
  }

  async #listOnce<T>(path: string, labelSelector: string, schema: z.ZodType<T>, signal?: AbortSignal) {
    const items: T[] = []
    let from: string | undefined
    for (let pages = 1; ; pages += 1) {
      const query = { labelSelector, limit: String(PAGE), ...(from !== undefined && { continue: from }) }
      const request = { path, query }
      const answer = await this.ask(request, signal)
      if (answer.status === 410) return 'expired' as const
      if (answer.status >= 300) throw this.errorOf(answer, request)
      const page = ListPage.safeParse(answer.value)
      if (!page.success) throw this.#notKubernetes(path, page.error)
      for (const one of page.data.items ?? []) {
        const item = schema.safeParse(one)
        if (!item.success) throw this.#notKubernetes(path, item.error)
        items.push(item.data)
      }
      if (items.length > LISTED_MAX.jobs || pages > PAGES_MAX) {
        const said = say('node_error.too_many_objects', { label: this.label, most: LISTED_MAX.jobs })
        throw failure('too_large', said, 'no')
      }
      const { continue: next, resourceVersion } = page.data.metadata
      if (!next) return { items, resourceVersion, head: answer.head }
      from = next
    }
  }

  errorOf({ status, value, head }: ApiAnswer, { method = 'GET', path }: ApiRequest): NodeError {
    const parsed = ApiStatus.safeParse(value)
    const { message = '', reason = '' } = parsed.success ? parsed.data : {}
    const why = showUnseen(message.replace(/\s+/g, ' ').trim().slice(0, 500))
    const { label } = this
    if (status === 401) return failure('unauthorized', say('node_error.token_rejected', { label }), 'no')
    if (status === 407) return failure('unreachable', say('node_error.proxy_refuses_password', { label }), 'no')
    if (status === 403 && !/exceeded quota/.test(why)) {
      const said = say('node_error.not_allowed', { label, why: why || `${method} ${path}` })
      return failure('forbidden', said, 'no')
    }
    if (!parsed.success && status >= 300 && status < 400) {
      const { location } = head.headers
      const target = location === undefined ? null : showUnseen(String(location).slice(0, 200))
      return failure('http', say('node_error.redirects_all', { label, target }), 'no')
    }
    // A Status object below 500 comes from the API and proves that nothing was created. A proxy's page proves nothing.
    const delivered = parsed.success && status < 500 ? 'no' : 'unknown'
    const isRefusal = status === 422 || (status === 400 && parsed.success)
    const answered = { label, path, status, reason, why }
    const gateway = kindOfGateway(status)
    if (gateway !== null) return fromProxy(failure(gateway, say('node_error.api_status', answered), delivered))
    if (!isRefusal) return failure('http', say('node_error.api_status', answered), delivered)
    return new NodeError('refused', say('node_error.api_refused', answered), { delivered: 'no', nodeMessage: why })
  }

  #parse(head: AnswerHead, text: string, path: string): unknown {
    if (head.status === 401 || head.status === 407) return null
    const type = String(head.headers['content-type'] ?? '')
    if (!/^application\/json\b/.test(type)) {
      // Probably an error page from a proxy. The status is enough.
      if (head.status >= 300) return null
      throw this.#notKubernetes(path)
    }
    if (text.length > 10_000 && problemOfJsonText(text, BOUNDS) !== null) throw this.#notKubernetes(path)
    try {
      return JSON.parse(text)
    } catch (error) {
      throw this.#notKubernetes(path, error)
    }
  }

  #notKubernetes(path: string, cause?: unknown): NodeError {
    return failure('not_scrapyd', say('node_error.not_kubernetes', { label: this.label, path }), 'unknown', cause)
  }
}

const LISTS_BEGUN_MAX = 3

/** Reads a credential file. Rejects with a NodeError that does not quote the content. */
export async function readCredential(
  label: string,
  files: Pick<CredentialFiles, 'read'>,
  path: string,
  file: CredentialFile
): Promise<string> {
  try {
    return await files.read(path)
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    const said =
      error instanceof ScrapdeckError
        ? say('node_error.credential_unusable', { label, why: error.message })
        : say('node_error.credential_unreadable', { label, file, path, why })
    throw failure('unauthorized', said, 'no', error)
  }
}
