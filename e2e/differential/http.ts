import { Buffer } from 'node:buffer'
import { request as sendRequest } from 'node:http'

export interface Request {
  method: string
  /** The path and query exactly as sent. The scenario percent-encodes them. */
  path: string
  headers?: Record<string, string>
  body?: Buffer | string
  /** Whether to send no credentials. By default, requests carry those that both servers accept. */
  withoutCredentials?: boolean
}

export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

const ANSWER_LIMIT_MS = 60_000

/** Opens a new connection for each request, so no part of one response can leak into the next. */
export function send(address: string, request: Request): Promise<Answer> {
  const { hostname, port } = new URL(address)
  const { method, path, headers = {} } = request
  const body = request.body === undefined ? null : Buffer.from(request.body)
  const length = body === null ? {} : { 'content-length': String(body.length) }
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: { ...length, ...headers }, agent: false }
    const sent = sendRequest({ ...options, timeout: ANSWER_LIMIT_MS }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const named = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(named),
          body: Buffer.concat(pieces)
        })
      })
    })
    sent.on('timeout', () =>
      sent.destroy(new Error(`${method} ${path} was not answered in ${ANSWER_LIMIT_MS / 1000} s`))
    )
    sent.on('error', reject)
    sent.end(body ?? undefined)
  })
}

const FORM = 'application/x-www-form-urlencoded'

export function get(path: string, headers: Record<string, string> = {}): Request {
  return { method: 'GET', path, headers }
}

/** `fields` can be pairs, so names can repeat. Percent-encodes as browsers do. */
export function post(endpoint: string, fields: [string, string][] | Record<string, string> = {}): Request {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields)
  return postForm(endpoint, new URLSearchParams(pairs).toString())
}

export function postForm(endpoint: string, body: Buffer | string): Request {
  return { method: 'POST', path: `/${endpoint}`, headers: { 'content-type': FORM }, body }
}

/** multipart/form-data, as requests and curl send it. A Buffer becomes a file. */
export function postMultipart(endpoint: string, fields: [string, string | Buffer][]): Request {
  const boundary = 'differential-boundary-7c1f'
  const parts = fields.map(([name, value]) => {
    const file = typeof value === 'string' ? '' : `; filename="${name}"`
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`
    return Buffer.concat([Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')])
  })
  return {
    method: 'POST',
    path: `/${endpoint}`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
  }
}

/** Returns the command that sends the same request to one server. If the body is not text, shows only its size. */
export function asCurl(request: Request, address: string, credentials: { username: string; password: string }): string {
  const words = ['curl', '-si', '--path-as-is', '-X', request.method]
  if (!request.withoutCredentials) words.push('-u', `${credentials.username}:${credentials.password}`)
  for (const [name, value] of Object.entries(request.headers ?? {})) words.push('-H', `${name}: ${value}`)
  if (request.body !== undefined) {
    const bytes = Buffer.from(request.body)
    const text = bytes.toString('utf8')
    const isText = Buffer.from(text).equals(bytes) && bytes.length < 4000 && !text.includes('\0')
    words.push('--data-binary', isText ? text : `<${bytes.length} bytes>`)
  }
  words.push(new URL(address).origin + request.path)
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(' ')
}
