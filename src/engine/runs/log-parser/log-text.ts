import { Buffer } from 'node:buffer'

/**
 * The parser decodes a log as Latin-1, one character per byte. Offsets are therefore exact, a border between two pieces
 * never cuts a character, and V8 stores and searches the text fastest. Only what is kept is decoded as UTF-8.
 */
export function latin1Of(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
}

export function encodeAsRead(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

export function decodeRead(text: string, from: number, to: number, atMost: number): string {
  // A character has at most four bytes, and the last character can be incomplete.
  const end = Math.min(to, from + 4 * atMost)
  const decoded = Buffer.from(text.slice(from, end), 'latin1').toString('utf8')
  return cutText(decoded, atMost)
}

/** Decodes without NUL bytes, color codes and other control characters, which would confuse a reader. */
export function readable(text: string, from: number, to: number, atMost: number): string {
  const decoded = decodeRead(text, from, to, atMost)
  return CONTROL.test(decoded) ? decoded.replace(COLOURS, '').replace(CONTROLS, '') : decoded
}

/** Never cuts a surrogate pair. */
export function cutText(text: string, atMost: number): string {
  if (text.length <= atMost) return text
  const code = text.charCodeAt(atMost - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? atMost - 1 : atMost)
}

const NOT_ASCII = /[^\u0000-\u007f]/
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
const COLOURS = /\u001b\[[\d;]{0,32}m/g
