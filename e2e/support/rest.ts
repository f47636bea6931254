import { TEST_CREDENTIALS } from './service.ts'
import { basicAuthorization } from './basic-authorization.ts'

const AUTHORIZATION = basicAuthorization(TEST_CREDENTIALS)

export interface RestAnswer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what a client without our types sees.
  body: any
}

/** Sends one request to `/api/v1`. Rejects without a complete response, even if the service executed the request. */
export async function askRest(
  address: string,
  request: { method?: string; path: string; body?: unknown; headers?: Record<string, string> }
): Promise<RestAnswer> {
  const { method = 'GET', path, body, headers } = request
  const response = await fetch(`${address}/api/v1${path}`, {
    method,
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export interface SentEvent {
  event: string
  id: string | null
  // oxlint-disable-next-line typescript/no-explicit-any -- as above.
  data: any
}

/** Like a browser's EventSource, but does not reconnect. Leaving the loop closes the connection. */
export async function* readEvents(
  address: string,
  path: string,
  lastEventId: string | null
): AsyncGenerator<SentEvent> {
  const gone = new AbortController()
  const response = await fetch(`${address}/api/v1${path}`, {
    headers: { authorization: AUTHORIZATION, ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }) },
    signal: gone.signal
  })
  if (response.status === 204) return
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  try {
    let text = ''
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + piece).split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null
        const event = field('event')
        if (event !== null) yield { event, id: field('id'), data: JSON.parse(field('data')!) }
      }
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  } finally {
    gone.abort()
  }
}
