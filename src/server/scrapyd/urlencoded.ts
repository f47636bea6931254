import { addValue, type FormValues } from './form-values.ts'
import { ScrapydAnswerError } from './parameters.ts'

const MAX_PAIRS = 10_000

/**
 * Splits pairs at `&` and `;`, drops pairs without `=`. Works on bytes because an egg can be sent this way. Throws
 * ScrapydAnswerError for more than 10,000 pairs.
 */
export function parseUrlEncoded(text: Buffer): FormValues {
  const found: FormValues = new Map()
  let start = 0
  let pairs = 0
  while (start <= text.length) {
    const end = findPairEnd(text, start)
    const pair = text.subarray(start, end)
    const equals = pair.indexOf(0x3d)
    if (equals !== -1) {
      pairs += 1
      if (pairs > MAX_PAIRS) throw new ScrapydAnswerError(`The form has more than ${MAX_PAIRS} fields`)
      addValue(
        found,
        percentDecode(pair.subarray(0, equals)).toString('latin1'),
        percentDecode(pair.subarray(equals + 1))
      )
    }
    start = end + 1
  }
  return found
}

function findPairEnd(text: Buffer, start: number): number {
  for (let index = start; index < text.length; index++) {
    if (text[index] === 0x26 || text[index] === 0x3b) return index
  }
  return text.length
}

/** `+` is a space; a `%` without two hex digits after it stays as it is. */
function percentDecode(text: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const byte = text[index] as number
    const high = byte === 0x25 ? hexDigit(text[index + 1]) : -1
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
