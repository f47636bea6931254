import { sentence } from './texts/errors/values.ts'
import type { Sentence } from './texts/sentence.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export interface JsonTextBounds {
  depth: number
  /** Including containers. */
  values: number
  /** The maximum per object. Creating an object with very many fields is slow. */
  fields: number
}

/**
 * Returns why an untrusted JSON text must not be parsed, worded to follow its name ("is nested …"), or null. Parsing
 * millions of containers would block the thread too long, so this check only passes over the characters once. Accepts
 * invalid JSON, because the parser reports the error.
 */
export function problemOfJsonText(text: string, { depth, values, fields }: JsonTextBounds): Sentence | null {
  let level = 0
  /** The number of commas so far, by level. Starts at minus infinity for lists, which have no limit. */
  const commas = [Number.NEGATIVE_INFINITY]
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (code === COMMA) {
      count += 1
      const ofThis = (commas[level] ?? 0) + 1
      if (ofThis >= fields) return sentence('values.too_many_fields', { fields })
      commas[level] = ofThis
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      level += 1
      count += 1
      if (level > depth) return sentence('values.nested_too_deep', { depth })
      commas[level] = code === OPEN_OBJECT ? 0 : Number.NEGATIVE_INFINITY
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      level = Math.max(0, level - 1)
    }
    if (count > values) return sentence('values.too_many_values', { values })
  }
  return null
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const end = text.indexOf('"', at)
    if (end === -1) return text.length
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return end
    at = end
  }
}
