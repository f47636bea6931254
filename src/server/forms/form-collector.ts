import type { IncomingFile, IncomingFiles, IncomingWriter } from '../../engine/blobs/incoming-files.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { MAX_TEXT_BYTES } from '../limits.ts'

/** What precedes the content of a part. Texts are Latin-1, one character per byte, so that none is lost. */
export interface PartHead {
  name: string
  /** null: none was sent. */
  fileName: string | null
  type: string
}

export interface FormPart extends PartHead {
  value: Buffer | IncomingFile
}

const MAX_PARTS = 10_000

/**
 * Collects the parts of a form as they arrive: what `isFile` accepts on disk, all others in memory, within
 * MAX_TEXT_BYTES. Rejects with REQUEST_TOO_LARGE, and with the errors of IncomingFiles.
 */
export class FormCollector {
  readonly #incoming: Pick<IncomingFiles, 'begin'>
  readonly #isFile: (head: PartHead) => boolean
  readonly #parts: FormPart[] = []
  #memoryBytes = 0
  #partCount = 0
  #current: { head: PartHead; content: Buffer[] | IncomingWriter } | null = null

  constructor(incoming: Pick<IncomingFiles, 'begin'>, isFile: (head: PartHead) => boolean) {
    this.#incoming = incoming
    this.#isFile = isFile
  }

  /** Ends the part before it. */
  async begin(head: PartHead): Promise<void> {
    await this.#endPart()
    this.#count()
    this.#charge(head.name.length + head.type.length + (head.fileName?.length ?? 0))
    this.#current = { head, content: this.#isFile(head) ? await this.#incoming.begin() : [] }
  }

  /** Adds to the part that was begun last. */
  async write(piece: Buffer): Promise<void> {
    const { content } = this.#current!
    if (!Array.isArray(content)) return content.write(piece)
    this.#charge(piece.length)
    // A copy: the piece may be a view of a much larger buffer.
    content.push(Buffer.from(piece))
  }

  /** The parts in their order. Files in them are yours to release. */
  async end(): Promise<FormPart[]> {
    await this.#endPart()
    return this.#parts
  }

  /** Removes what is on disk. */
  async abort(): Promise<void> {
    const current = this.#current?.content
    this.#current = null
    if (current !== undefined && !Array.isArray(current)) await current.abort()
    await releaseFiles(this.#parts)
  }

  async #endPart(): Promise<void> {
    if (this.#current === null) return
    const { head, content } = this.#current
    const value = Array.isArray(content) ? Buffer.concat(content) : await content.end()
    this.#parts.push({ ...head, value })
    this.#current = null
  }

  #count(): void {
    if (++this.#partCount > MAX_PARTS) {
      const limit = MAX_PARTS.toLocaleString('en-US')
      throw new ScrapdeckError(
        'REQUEST_TOO_LARGE',
        `The form has more fields than the limit of ${limit}. Split it into several requests.`
      )
    }
  }

  #charge(bytes: number): void {
    this.#memoryBytes += bytes
    if (this.#memoryBytes <= MAX_TEXT_BYTES) return
    const limit = `${MAX_TEXT_BYTES / 1024 ** 2} MB`
    throw new ScrapdeckError(
      'REQUEST_TOO_LARGE',
      `The fields of the form, without its file, are larger than the limit of ${limit}. Split it into several requests.`
    )
  }
}

/** Its content is on disk. */
export const isFilePart = ({ value }: FormPart): boolean => !Buffer.isBuffer(value)

export async function releaseFiles(parts: FormPart[]): Promise<void> {
  for (const { value } of parts) if (!Buffer.isBuffer(value)) await value[Symbol.asyncDispose]()
}
