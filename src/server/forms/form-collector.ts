import type { IncomingFile, IncomingFiles, IncomingWriter } from '../../engine/storage/blobs/incoming-files.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { MAX_TEXT_BYTES } from '../limits.ts'

/** The header of a part. Strings are in Latin-1, with one character per byte, so that no byte is lost. */
export interface PartHead {
  name: string
  /** null if the part has no file name. */
  fileName: string | null
  type: string
}

export interface FormPart extends PartHead {
  value: Buffer | IncomingFile
}

const MAX_PARTS = 10_000

/**
 * Collects parts as they arrive: files (`isFile`) on disk, others in memory, up to MAX_TEXT_BYTES. Rejects with
 * REQUEST_TOO_LARGE and with the errors of IncomingFiles.
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

  /** Ends the previous part and starts this part. Returns undefined if there is nothing to wait for. */
  begin(head: PartHead): Promise<void> | undefined {
    const ending = this.#endPart()
    return ending === undefined ? this.#beginPart(head) : ending.then(() => this.#beginPart(head))
  }

  write(piece: Buffer): Promise<void> | undefined {
    const { content } = this.#current!
    if (!Array.isArray(content)) return content.write(piece)
    this.#charge(piece.length)
    // Copy the piece, because it can be a view of a much larger buffer.
    content.push(Buffer.from(piece))
    return undefined
  }

  /** Returns the parts in order. The caller must release their files. */
  async end(): Promise<FormPart[]> {
    await this.#endPart()
    return this.#parts
  }

  async abort(): Promise<void> {
    const current = this.#current?.content
    this.#current = null
    if (current !== undefined && !Array.isArray(current)) await current.abort()
    await releaseFiles(this.#parts)
  }

  #beginPart(head: PartHead): Promise<void> | undefined {
    this.#count()
    this.#charge(head.name.length + head.type.length + (head.fileName?.length ?? 0))
    const add = (content: Buffer[] | IncomingWriter) => {
      this.#current = { head, content }
    }
    return this.#isFile(head) ? this.#incoming.begin().then(add) : void add([])
  }

  #endPart(): Promise<void> | undefined {
    if (this.#current === null) return undefined
    const { head, content } = this.#current
    const add = (value: FormPart['value']) => {
      this.#parts.push({ ...head, value })
      this.#current = null
    }
    return Array.isArray(content) ? void add(Buffer.concat(content)) : content.end().then(add)
  }

  #count(): void {
    if (++this.#partCount > MAX_PARTS) {
      const limit = MAX_PARTS.toLocaleString('en-US')
      throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('server.too_many_fields', { limit }))
    }
  }

  #charge(bytes: number): void {
    this.#memoryBytes += bytes
    if (this.#memoryBytes <= MAX_TEXT_BYTES) return
    const limit = `${MAX_TEXT_BYTES / 1024 ** 2} MB`
    throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('server.fields_too_large', { limit }))
  }
}

export const isFilePart = ({ value }: FormPart): boolean => !Buffer.isBuffer(value)

export async function releaseFiles(parts: FormPart[]): Promise<void> {
  for (const { value } of parts) if (!Buffer.isBuffer(value)) await value[Symbol.asyncDispose]()
}
