import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'

/** A name starts a value. The bytes of the value follow in pieces. */
export type FormEvent = { name: string } | { bytes: Buffer }

const AMPERSAND = 0x26
const SEMICOLON = 0x3b
const EQUALS = 0x3d
const PERCENT = 0x25
const MAX_NAME_BYTES = 65_536

/**
 * Parses urlencoded text piece by piece. Pairs end at `&` and `;`. Drops pairs without `=`. Works on bytes, because
 * ScrapydWeb sends eggs this way. Throws REQUEST_TOO_LARGE if a name is too long.
 */
export class UrlEncodedParser {
  #isInValue = false
  /** The start of an incomplete name or percent-encoded byte. */
  #rest = Buffer.alloc(0);

  *push(piece: Buffer): Generator<FormEvent> {
    const text = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let start = 0
    for (;;) {
      const end = findEnd(text, start, this.#isInValue)
      if (this.#isInValue) {
        const until = end ?? endOfWhole(text, start)
        if (until > start) yield { bytes: percentDecode(text.subarray(start, until)) }
        start = until
      }
      if (end === null) break
      const isName = text[end] === EQUALS && !this.#isInValue
      if (isName) yield { name: percentDecode(text.subarray(start, end)).toString('latin1') }
      this.#isInValue = isName
      start = end + 1
    }
    this.#rest = Buffer.from(text.subarray(start))
    if (this.#rest.length > MAX_NAME_BYTES) {
      throw new ScrapdeckError(
        'REQUEST_TOO_LARGE',
        sentence('server.field_name_too_long', { maxNameBytes: MAX_NAME_BYTES })
      )
    }
  }

  *end(): Generator<FormEvent> {
    if (this.#isInValue && this.#rest.length > 0) yield { bytes: percentDecode(this.#rest) }
  }
}

export function parseUrlEncoded(text: Buffer): FormValues {
  const found: FormValues = new Map()
  let name = ''
  let pieces: Buffer[] | null = null
  const add = () => pieces !== null && addValue(found, name, Buffer.concat(pieces))
  const parser = new UrlEncodedParser()
  for (const event of [...parser.push(text), ...parser.end()]) {
    if ('bytes' in event) pieces!.push(event.bytes)
    else {
      add()
      name = event.name
      pieces = []
    }
  }
  add()
  return found
}

/** The end of a pair or, for a name, the position of `=`. null if the text contains neither. */
function findEnd(text: Buffer, start: number, isInValue: boolean): number | null {
  for (let index = start; index < text.length; index++) {
    const byte = text[index]
    if (byte === AMPERSAND || byte === SEMICOLON || (byte === EQUALS && !isInValue)) return index
  }
  return null
}

function endOfWhole(text: Buffer, start: number): number {
  const percent = text.lastIndexOf(PERCENT)
  return percent >= Math.max(start, text.length - 2) ? percent : text.length
}

/** `+` becomes a space. A `%` without two hex digits after it stays unchanged. */
function percentDecode(text: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const byte = text[index] as number
    const high = byte === PERCENT ? hexDigit(text[index + 1]) : -1
    const low = high === -1 ? -1 : hexDigit(text[index + 2])
    if (low !== -1) {
      decoded[length++] = high * 16 + low
      index += 2
    } else {
      decoded[length++] = byte === 0x2b ? 0x20 : byte
    }
  }
  return decoded.subarray(0, length)
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Values by name. Names are in Latin-1, with one character per byte, so that no byte is lost. Values are bytes. */
export type FormValues = Map<string, Buffer[]>

export function addValue(found: FormValues, name: string, value: Buffer): void {
  const values = found.get(name)
  if (values === undefined) found.set(name, [value])
  else values.push(value)
}
