import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StandardRPCJsonSerializer, StandardRPCSerializer } from '@orpc/client/standard'
import { z } from 'zod'
import { type Clock, type Timer } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'

/** The maximum number of stored responses, their maximum total size, and the maximum size of one response. */
const MOST = 200
const MOST_BYTES = 4_000_000
const MOST_OF_ONE = MOST_BYTES / 4
const LONGEST_KEY = 2_000
/** The delay between a change and the write of the files. Responses change often while a viewer is open. */
const WRITE_AFTER_MS = 10_000

const INDEX = 'index.json'
const Index = z.object({
  asOfMs: z.number(),
  /** For each response: the key of the request, the size in bytes, and the digest, newest last. */
  answers: z.array(z.tuple([z.string().max(LONGEST_KEY), z.number(), z.string()])).max(MOST)
})

interface Kept {
  bytes: number
  digest: string
  /** The bytes that are not in the file yet, or null if the file is current. */
  pending: Uint8Array | null
}

const serializer = new StandardRPCSerializer(new StandardRPCJsonSerializer())

/**
 * The last responses of an engine, which the UI shows while the engine does not respond, even after a restart. Each is
 * a file with the bytes that the engine sent, in a directory that only this user can read. Files are written after
 * changes and decoded on request, so nothing blocks the event loop.
 */
export class LastAnswers {
  readonly #directory: string
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #answers = new Map<string, Kept>()
  #bytes = 0
  #asOfMs: number | null = null
  #timer: Timer | null = null
  #writing = Promise.resolve()

  constructor(directory: string, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#directory = directory
    this.#clock = clock
    this.#logger = logger
    try {
      const { asOfMs, answers } = Index.parse(JSON.parse(readFileSync(join(directory, INDEX), 'utf8')))
      this.#asOfMs = asOfMs
      for (const [key, bytes, digest] of answers) this.#put(key, { bytes, digest, pending: null })
    } catch (error) {
      // A damaged index is only logged. The engine's next responses replace it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        logger.warn({ err: error }, 'The last state of a remote engine could not be read')
    }
    // An earlier version stored all responses in one file.
    void this.#inTurn(() => rm(`${directory}.json`, { force: true }))
  }

  /** null if there are no responses. */
  get asOfMs(): number | null {
    return this.#asOfMs
  }

  /** Call this when everything on screen has been refreshed or is unchanged. */
  markCurrent(): void {
    if (this.#answers.size === 0) return
    this.#asOfMs = this.#clock.nowMs()
    this.#writeLater()
  }

  newest(count: number): string[] {
    return [...this.#answers.keys()].slice(-count).toReversed()
  }

  /** Returns undefined if there is no response to this request or it cannot be read. */
  async get(key: string): Promise<unknown> {
    const kept = this.#answers.get(key)
    if (kept === undefined) return undefined
    const bytes = kept.pending ?? (await readFile(this.#fileOf(key)).catch((error: Error) => error))
    // The response was replaced while it was being read, or the responses of another user were stored.
    if (this.#answers.get(key) !== kept) return this.get(key)
    try {
      if (bytes instanceof Error) throw bytes
      return serializer.deserialize(JSON.parse(Buffer.from(bytes).toString('utf8')))
    } catch (error) {
      this.#logger.warn({ err: error }, 'An answer of a remote engine could not be read')
      this.#remove(key)
      return undefined
    }
  }

  set(key: string, answer: Uint8Array): void {
    const before = this.#answers.get(key)
    this.#remove(key)
    if (answer.byteLength > MOST_OF_ONE || key.length > LONGEST_KEY) return
    const digest = hash('sha256', answer)
    const isSame = before?.digest === digest
    this.#put(key, isSame ? before : { bytes: answer.byteLength, digest, pending: answer })
    this.#asOfMs ??= this.#clock.nowMs()
    if (!isSame) this.#writeLater()
  }

  /** Call this when the user changes, so that responses for another user are not shown. */
  async clear(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    this.#answers.clear()
    this.#bytes = 0
    this.#asOfMs = null
    await this.#inTurn(() => rm(this.#directory, { recursive: true, force: true }))
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) this.#write()
    await this.#writing
  }

  #put(key: string, kept: Kept): void {
    this.#answers.set(key, kept)
    this.#bytes += key.length + kept.bytes
    while (this.#answers.size > MOST || this.#bytes > MOST_BYTES) {
      const [oldest] = this.#answers.keys()
      this.#remove(oldest!)
    }
  }

  #remove(key: string): void {
    const kept = this.#answers.get(key)
    if (kept === undefined) return
    this.#bytes -= key.length + kept.bytes
    this.#answers.delete(key)
  }

  #fileOf(key: string): string {
    return join(this.#directory, nameOf(key))
  }

  #writeLater(): void {
    this.#timer ??= this.#clock.setTimer(WRITE_AFTER_MS, () => this.#write())
  }

  #write(): void {
    this.#timer?.cancel()
    this.#timer = null
    const answers = [...this.#answers]
    const index = { asOfMs: this.#asOfMs, answers: answers.map(([key, { bytes, digest }]) => [key, bytes, digest]) }
    const changed = answers.filter(([, { pending }]) => pending !== null)
    void this.#inTurn(async () => {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      for (const [key, kept] of changed) {
        // The previous write may have included this response.
        if (kept.pending === null) continue
        await replace(this.#fileOf(key), kept.pending)
        kept.pending = null
      }
      await replace(join(this.#directory, INDEX), JSON.stringify(index))
      await this.#removeOthers(new Set([INDEX, ...answers.map(([key]) => nameOf(key))]))
    })
  }

  /** Removes the files of dropped responses and files that a crash left behind. */
  async #removeOthers(names: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      if (!names.has(name)) await rm(join(this.#directory, name), { force: true })
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing
      .then(work)
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'The last state of an engine was not written'))
    return this.#writing
  }
}

/** Hashes the key, which can have any length and any characters. */
const nameOf = (key: string): string => `${hash('sha256', key)}.json`

async function replace(path: string, content: Uint8Array | string): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
