import { once } from 'node:events'
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { readArchive } from '../../engine/testing/archives.ts'
import type { FakeClock } from '../../engine/testing/fake-clock.ts'

export interface Answer {
  status: number
  /** The headers, without those that differ in each response. */
  head: string
  /** The body, with the contents of any archive. */
  text: string
  /** A stream's last message. The number of earlier ones depends on the speed of threads. */
  conclusion: string
  /** Whether the stream had not ended, so that only its start was read. */
  isCut: boolean
}

const DIFFER = /^(date|content-length|x-ratelimit.*|ratelimit.*|etag|connection|keep-alive)$/
/** How long a stream can be silent. A stream that is silent for twice this long is not read any further. */
const SILENCE_MS = 10
const STREAM_BYTES = 1_000_000
const PAUSE_MS = 50
const LIMIT_MS = 40_000

interface Response {
  status: number
  headers: Readonly<Record<string, unknown>>
  stream: Readable
}
export type Ask = (options: InjectOptions) => Promise<Response>

export const askInProcess =
  (app: FastifyInstance): Ask =>
  async (options) => {
    const response = await app.inject({ ...options, payloadAsStream: true })
    return { status: response.statusCode, headers: response.headers, stream: response.stream() }
  }

export const askOverSocket =
  (port: number): Ask =>
  async ({ method, url, headers, payload }) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      method,
      path: String(url),
      headers: headers as OutgoingHttpHeaders
    })
    sent.end(payload)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: response.statusCode!, headers: response.headers, stream: response }
  }

export async function readAnswer(ask: Ask, clock: FakeClock, options: InjectOptions): Promise<Answer> {
  const asking = ask(options)
  let isAnswered = false
  void asking.finally(() => (isAnswered = true)).catch(() => {})
  for (let waitedMs = 0; !isAnswered; waitedMs += PAUSE_MS) {
    await Promise.race([asking.catch(() => {}), delay(PAUSE_MS)])
    // Advance slowly, because the response can depend on real threads and processes.
    if (!isAnswered) await clock.advanceBy(PAUSE_MS)
    if (waitedMs > LIMIT_MS) throw new Error(`No answer to ${options.method} ${String(options.url)}`)
  }
  const { status, headers, stream } = await asking
  const head = Object.entries(headers)
    .filter(([name]) => !DIFFER.test(name))
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n')
  if (!String(headers['content-type']).includes('event-stream')) {
    const bytes = await buffer(stream)
    const text = bytes.toString() + (await inZip(bytes))
    return { status, head, text, conclusion: text, isCut: false }
  }
  const parts: Buffer[] = []
  let isEnded = false
  let bytes = 0
  const reading = (async () => {
    for await (const part of stream) {
      parts.push(part as Buffer)
      bytes += (part as Buffer).length
    }
    isEnded = true
  })().catch(() => {})
  for (let had = -1, silent = 0; !isEnded && silent < 2 && bytes < STREAM_BYTES; had = parts.length) {
    silent = had === parts.length ? silent + 1 : 0
    await clock.advanceBy(300)
    await Promise.race([reading, delay(SILENCE_MS)])
  }
  if (!isEnded) stream.destroy()
  await reading
  const text = Buffer.concat(parts).toString()
  const conclusion =
    text
      .match(/^data: \{.+$/gm)
      ?.filter((line) => line !== 'data: {}')
      .at(-1) ?? text
  return { status, head, text, conclusion, isCut: !isEnded }
}

/** Returns the names and contents of the files in an archive, or an empty string if the bytes are not an archive. */
async function inZip(bytes: Buffer): Promise<string> {
  if (bytes.subarray(0, 2).toString() !== 'PK') return ''
  return [...(await readArchive(bytes))].map(([name, content]) => `${name}\n${content.toString()}`).join('\n')
}
