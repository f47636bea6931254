import { open, rm, type FileHandle } from 'node:fs/promises'
import pLimit from 'p-limit'
import { maskCredentials } from '../../../../shared/secret-values.ts'

const LIMIT_BYTES = 2_000_000
const LINE_LIMIT_CHARACTERS = 4_000
const PIECE_BYTES = 64 * 1024

/** The log of a build, limited in size and without credentials. */
export class BuildLog {
  readonly path: string
  readonly #file: FileHandle
  readonly #listeners = new Set<() => void>()
  readonly #oneAtATime = pLimit(1)
  #sizeBytes = 0
  #hasEnded = false

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  /** Replaces the previous log, whose readers can still read it to the end. */
  static async open(path: string): Promise<BuildLog> {
    await rm(path, { force: true })
    return new BuildLog(path, await open(path, 'wx', 0o600))
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  write(line: string): void {
    if (this.#sizeBytes > LIMIT_BYTES) return
    void this.#append(line)
    if (this.#sizeBytes > LIMIT_BYTES) void this.#append('… and more than is kept here')
  }

  /** If a write fails, log lines are lost, but the build does not fail. */
  async end(line: string): Promise<void> {
    await this.#append(line)
    this.#hasEnded = true
    await this.#file.close()
    this.#wake()
  }

  grown(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#listeners.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      this.#listeners.add(done)
      signal?.addEventListener('abort', done, { once: true })
    })
  }

  #append(line: string): Promise<void> {
    const bytes = Buffer.from(`${maskCredentials(line).slice(0, LINE_LIMIT_CHARACTERS)}\n`)
    this.#sizeBytes += bytes.length
    return this.#oneAtATime(async () => {
      await this.#file.appendFile(bytes).catch(() => {})
      this.#wake()
    })
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

export async function* readBuildLog(
  path: string,
  growing: BuildLog | null,
  signal?: AbortSignal
): AsyncGenerator<{ text: string }, void, void> {
  await using file = await open(path, 'r')
  const decoder = new TextDecoder()
  while (!signal?.aborted) {
    // Subscribes before the read, so that no line written during the read is missed.
    const grown = growing === null || growing.hasEnded ? null : growing.grown(signal)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES)
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: true })
    if (text !== '') yield { text }
    if (bytesRead > 0) continue
    if (grown === null) return
    await grown
  }
}
