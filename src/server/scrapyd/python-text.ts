export type PythonJsonValue =
  | null
  | boolean
  | number
  | string
  | EncodedText
  | readonly PythonJsonValue[]
  | { readonly [key: string]: PythonJsonValue }

class EncodedText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const kept = new WeakMap<object, EncodedText>()

/** Encodes the value of `describe` once per `source`, which must not change afterwards. */
export function encodeOnce(source: object, describe: () => PythonJsonValue): PythonJsonValue {
  let text = kept.get(source)
  if (text === undefined) kept.set(source, (text = new EncodedText(toPythonJson(describe()))))
  return text
}

/**
 * Encodes JSON exactly like Python's `json.dumps`, which Scrapyd uses: separators `, ` and `: `, non-ASCII as `\uXXXX`
 * (scrapyd-protocol.md, 2.1). Numbers must be finite.
 */
export function toPythonJson(value: PythonJsonValue): string {
  if (typeof value === 'string') return escapeNonAscii(JSON.stringify(value))
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (value instanceof EncodedText) return value.text
  if (Array.isArray(value)) return `[${value.map(toPythonJson).join(', ')}]`
  const pairs = Object.entries(value).map(
    ([key, item]) => `${escapeNonAscii(JSON.stringify(key))}: ${toPythonJson(item)}`
  )
  return `{${pairs.join(', ')}}`
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * An error with Python's message for an invalid value, which Scrapyd forwards to clients (scrapyd-protocol.md, 3.2).
 */
export class PythonValueError extends Error {
  override readonly name = 'PythonValueError'
}

// ignoreBOM: keep a leading U+FEFF, like Python.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes strict UTF-8. Throws an error with the message of Python's UnicodeDecodeError. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch (error) {
    throw new PythonValueError(describeUtf8Error(bytes), { cause: error })
  }
}

// The patterns below take quadratic time for text that is almost a number, and a request can have 200 MB of it.
const LONGEST_FLOAT_BYTES = 1000

/**
 * Parses like `float(b'…')`: allows surrounding spaces, `_` between digits, inf, nan. Throws an error with the message
 * of Python's ValueError.
 */
export function parsePythonFloat(bytes: Uint8Array): number {
  if (bytes.length > LONGEST_FLOAT_BYTES) {
    throw new PythonValueError(`could not convert string to float: ${toBytesRepr(bytes.subarray(0, 100))}...`)
  }
  const text = Buffer.from(bytes).toString('latin1')
  const trimmed = text.replace(/^[ \t\n\r\v\f]+|[ \t\n\r\v\f]+$/g, '').toLowerCase()
  const special = /^([+-]?)(inf|infinity|nan)$/.exec(trimmed)
  if (special !== null) return special[2] === 'nan' ? Number.NaN : special[1] === '-' ? -Infinity : Infinity
  if (/^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?$/.test(trimmed)) {
    return Number(trimmed.replaceAll('_', ''))
  }
  throw new PythonValueError(`could not convert string to float: ${toBytesRepr(bytes)}`)
}

export function toBytesRepr(bytes: Uint8Array): string {
  const quote = bytes.includes(0x27) && !bytes.includes(0x22) ? '"' : "'"
  let body = ''
  for (const byte of bytes) {
    const character = String.fromCharCode(byte)
    if (character === quote || character === '\\') body += `\\${character}`
    else if (character === '\n') body += '\\n'
    else if (character === '\r') body += '\\r'
    else if (character === '\t') body += '\\t'
    else if (byte < 0x20 || byte > 0x7e) body += `\\x${byte.toString(16).padStart(2, '0')}`
    else body += character
  }
  return `b${quote}${body}${quote}`
}

/** Describes the first error like CPython: the longest valid start of a sequence, then the reason why it stops. */
function describeUtf8Error(bytes: Uint8Array): string {
  let position = 0
  while (position < bytes.length) {
    const lead = bytes[position] as number
    const length =
      lead < 0x80
        ? 1
        : lead >= 0xc2 && lead <= 0xdf
          ? 2
          : (lead & 0xf0) === 0xe0
            ? 3
            : lead >= 0xf0 && lead <= 0xf4
              ? 4
              : 0
    if (length === 0) return sayUtf8Error(bytes, position, 1, 'invalid start byte')
    for (let offset = 1; offset < length; offset++) {
      const byte = bytes[position + offset]
      if (byte === undefined) return sayUtf8Error(bytes, position, offset, 'unexpected end of data')
      const [low, high] = offset === 1 ? secondByteRange(lead) : [0x80, 0xbf]
      if (byte < low || byte > high) return sayUtf8Error(bytes, position, offset, 'invalid continuation byte')
    }
    position += length
  }
  return "'utf-8' codec can't decode the value"
}

/** Excludes overlong forms, surrogates and everything above U+10FFFF (RFC 3629, section 4). */
function secondByteRange(lead: number): [number, number] {
  if (lead === 0xe0) return [0xa0, 0xbf]
  if (lead === 0xed) return [0x80, 0x9f]
  if (lead === 0xf0) return [0x90, 0xbf]
  if (lead === 0xf4) return [0x80, 0x8f]
  return [0x80, 0xbf]
}

function sayUtf8Error(bytes: Uint8Array, position: number, count: number, reason: string): string {
  if (count > 1) return `'utf-8' codec can't decode bytes in position ${position}-${position + count - 1}: ${reason}`
  const byte = (bytes[position] as number).toString(16).padStart(2, '0')
  return `'utf-8' codec can't decode byte 0x${byte} in position ${position}: ${reason}`
}
