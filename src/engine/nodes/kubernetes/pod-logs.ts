import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { say } from '../../../shared/texts/message.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { LogRange } from '../node-client.ts'
import { failure } from '../node-failure.ts'
import type { KubernetesApi } from './api.ts'
import type { Connection } from '../scrapyd/connection.ts'

export interface LoggedPod {
  /** Also the name of the copy's file. */
  jobName: string
  pod: string
  uid: string
  container: string
  hasEnded: boolean
}

interface Copy {
  jobName: string
  path: string
  uid: string
  sizeBytes: number
  /** The offset in the copy at which the log from the API starts. Not 0 after the log was rotated. */
  beginsAt: number
  /** The first bytes of the log from the API. If it starts differently later, it was rotated. */
  head: Buffer
  isComplete: boolean
  following: { stop: AbortController; done: Promise<void> } | null
  completing: Promise<void> | null
  lastReadMs: number
  lastByteMs: number
  writing: Promise<void>
  queuedBytes: number
}

const FOLLOWED_MAX = 200
/** A log that has been unread for this long loses its stream when all streams are in use. */
const UNREAD_MS = 30_000
/** How long a stream can be silent before we reopen it. A dead connection looks like a run that logs nothing. */
const SILENT_MS = 120_000
const FETCH_LIMIT_MS = 10 * 60_000
const QUEUED_MAX_BYTES = 16_000_000
const HEAD_BYTES = 256
const COPIES_MAX = 2_000
const ROTATED = '\n[scrapdeck] The kubelet rotated this log: lines may be missing here, or repeated.\n'

/**
 * Copies of pod logs as files, because the API returns a log only from its start and readers want ranges. A stream
 * follows the log of a running pod while it has readers. After the pod ends, we fetch the missing part.
 */
export class PodLogs {
  readonly #api: KubernetesApi
  readonly #openConnection: () => { api: KubernetesApi; connection: Pick<Connection, 'close'> }
  readonly #directory: string
  readonly #namespacePath: string
  readonly #clock: Clock
  readonly #copies = new Map<string, Copy>()
  readonly #closing = new AbortController()
  #made: Promise<unknown> | null = null

  constructor(options: {
    api: KubernetesApi
    /** Opens a separate connection, so that streams do not use up the connections for other requests. */
    openConnection: () => { api: KubernetesApi; connection: Pick<Connection, 'close'> }
    directory: string
    namespacePath: string
    clock: Clock
  }) {
    this.#api = options.api
    this.#openConnection = options.openConnection
    this.#directory = options.directory
    this.#namespacePath = options.namespacePath
    this.#clock = options.clock
  }

  async read(
    logged: LoggedPod,
    { offset, limitBytes }: { offset: number; limitBytes: number },
    signal?: AbortSignal
  ): Promise<LogRange> {
    const copy = await this.#copyOf(logged)
    copy.lastReadMs = this.#clock.monotonicMs()
    if (logged.hasEnded && !copy.isComplete) await this.#complete(logged, copy, signal)
    else if (!copy.isComplete) this.#follow(logged, copy)
    await copy.writing
    const from = Math.min(offset < 0 ? Math.max(0, copy.sizeBytes + offset) : offset, copy.sizeBytes)
    const length = Math.min(limitBytes, copy.sizeBytes - from)
    const bytes = Buffer.alloc(length)
    if (length > 0) {
      await using file = await open(copy.path, 'r')
      for (let at = 0; at < length; ) {
        const { bytesRead } = await file.read(bytes, at, length - at, from + at)
        if (bytesRead === 0) break
        at += bytesRead
      }
    }
    return { offset: offset < 0 ? from : offset, sizeBytes: copy.sizeBytes, bytes, fileId: copy.uid }
  }

  async forget(jobName: string): Promise<void> {
    const copy = this.#copies.get(jobName)
    if (copy === undefined) return
    this.#copies.delete(jobName)
    await this.#stop(copy)
    await rm(copy.path, { force: true })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#copies.values()].map((copy) => this.#stop(copy)))
    this.#copies.clear()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #copyOf(logged: LoggedPod): Promise<Copy> {
    const known = this.#copies.get(logged.jobName)
    if (known?.uid === logged.uid) return known
    if (known !== undefined) await this.forget(logged.jobName)
    await (this.#made ??= mkdir(this.#directory, { recursive: true, mode: 0o700 }))
    const nowMs = this.#clock.monotonicMs()
    const copy: Copy = {
      jobName: logged.jobName,
      path: join(this.#directory, `${logged.jobName}.${logged.uid.replace(/[^A-Za-z0-9-]/g, '')}`),
      uid: logged.uid,
      sizeBytes: 0,
      beginsAt: 0,
      head: Buffer.alloc(0),
      isComplete: false,
      following: null,
      completing: null,
      lastReadMs: nowMs,
      lastByteMs: nowMs,
      writing: Promise.resolve(),
      queuedBytes: 0
    }
    this.#copies.set(logged.jobName, copy)
    if (this.#copies.size > COPIES_MAX) {
      const [oldest] = this.#copies.keys()
      void this.forget(oldest!)
    }
    return copy
  }

  #follow(logged: LoggedPod, copy: Copy): void {
    const nowMs = this.#clock.monotonicMs()
    if (copy.following !== null) {
      if (nowMs - copy.lastByteMs > SILENT_MS) copy.following.stop.abort()
      return
    }
    const followed = [...this.#copies.values()].filter(({ following }) => following !== null)
    if (followed.length >= FOLLOWED_MAX) {
      for (const other of followed) if (nowMs - other.lastReadMs > UNREAD_MS) other.following?.stop.abort()
      return
    }
    copy.lastByteMs = nowMs
    const stop = new AbortController()
    const { api, connection } = this.#openConnection()
    const signal = AbortSignal.any([stop.signal, this.#closing.signal])
    const stream = this.#stream(api, logged, copy, { follow: 'true' }, 24 * 60 * 60_000, signal)
    // Errors are ignored because the next read opens another stream or fetches what is missing.
    const done = stream
      .catch(() => {})
      .then(async () => {
        await connection.close()
        copy.following = null
      })
    copy.following = { stop, done }
  }

  async #complete(logged: LoggedPod, copy: Copy, signal?: AbortSignal): Promise<void> {
    copy.completing ??= this.#fetchRest(logged, copy).finally(() => (copy.completing = null))
    if (signal === undefined) return copy.completing
    const stopped = Promise.withResolvers<never>()
    const said = say('node_error.aborted', { label: this.#api.label })
    const onAbort = () => stopped.reject(failure('aborted', said, 'no'))
    signal.addEventListener('abort', onAbort)
    try {
      await Promise.race([copy.completing, stopped.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async #fetchRest(logged: LoggedPod, copy: Copy): Promise<void> {
    await this.#stop(copy)
    for (;;) {
      const end = await this.#stream(this.#api, logged, copy, {}, FETCH_LIMIT_MS, this.#closing.signal)
      await copy.writing
      if (end === 'all') break
      await sleep(this.#clock, 100)
    }
    copy.isComplete = true
  }

  async #stop(copy: Copy): Promise<void> {
    copy.following?.stop.abort()
    await copy.following?.done
    await copy.writing
  }

  async #stream(
    api: KubernetesApi,
    logged: LoggedPod,
    copy: Copy,
    query: Record<string, string>,
    timeoutMs: number,
    signal: AbortSignal
  ): Promise<'all' | 'part'> {
    const path = `${this.#namespacePath}pods/${logged.pod}/log`
    const request = { path, query: { container: logged.container, ...query }, timeoutMs }
    await copy.writing
    const held = copy.sizeBytes - copy.beginsAt
    const begin = copy.head
    const file = await open(copy.path, 'a', 0o600)
    const problem: Buffer[] = []
    let at = 0
    let isRotated = false
    let isPart = false
    const append = (bytes: Buffer) => this.#append(copy, file, bytes)
    const receiveLog = (piece: Buffer) => {
      copy.lastByteMs = this.#clock.monotonicMs()
      const compared = Math.min(piece.length, Math.max(0, begin.length - at))
      if (!isRotated && !piece.subarray(0, compared).equals(begin.subarray(at, at + compared))) {
        isRotated = true
        append(Buffer.from(ROTATED))
        copy.beginsAt = copy.sizeBytes + copy.queuedBytes
        copy.head = Buffer.alloc(0)
        append(begin.subarray(0, at))
      }
      append(isRotated ? piece : piece.subarray(Math.min(piece.length, Math.max(0, held - at))))
      at += piece.length
      if (copy.queuedBytes <= QUEUED_MAX_BYTES) return 'more'
      isPart = true
      return 'enough'
    }
    const receiveProblem = (piece: Buffer) => {
      problem.push(piece.subarray(0, 2_000))
      return problem.length < 5 ? 'more' : 'enough'
    }
    try {
      const head = await api.send(request, ({ status }) => (status === 200 ? receiveLog : receiveProblem), signal)
      // 400 and 404: the container has not started, or its node has discarded the log.
      if (head.status !== 200 && head.status !== 400 && head.status !== 404) {
        throw api.errorOf({ status: head.status, head, value: parsed(problem) }, request)
      }
    } finally {
      try {
        await copy.writing
      } finally {
        await file.close()
      }
    }
    return isPart ? 'part' : 'all'
  }

  #append(copy: Copy, file: FileHandle, bytes: Buffer): void {
    if (bytes.length === 0) return
    if (copy.head.length < HEAD_BYTES) {
      copy.head = Buffer.concat([copy.head, bytes.subarray(0, HEAD_BYTES - copy.head.length)])
    }
    copy.queuedBytes += bytes.length
    copy.writing = copy.writing.then(async () => {
      await writeAll(file, bytes)
      copy.sizeBytes += bytes.length
      copy.queuedBytes -= bytes.length
    })
    // Callers that wait for the writes receive the error. This handler only drops the copy.
    copy.writing.catch(() => this.#copies.delete(copy.jobName))
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
}

function parsed(pieces: Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    // The body does not come from the API. The status is enough.
    return null
  }
}
