import { ITEM_MAX_BYTES } from './bounds.ts'
import type { RawItem } from './raw-item.ts'
import type { Splitter } from './split-lines.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** The elements of a JSON list, whatever its layout: Scrapy writes one per line, others indent them. */
export function splitArray(): Splitter {
  let index = 0
  let offset = 0
  /** 1: between the elements. */
  let depth = 0
  let isInText = false
  let isEscaped = false
  let hasEnded = false
  let kept: Buffer[] = []
  let keptBytes = 0
  const keep = (part: Buffer): void => {
    keptBytes += part.length
    if (keptBytes > ITEM_MAX_BYTES) kept = []
    else if (part.length > 0) kept.push(Buffer.from(part))
  }
  const take = (endOffset: number): RawItem[] => {
    const bytes = keptBytes > ITEM_MAX_BYTES ? null : onOneLine(Buffer.concat(kept))
    kept = []
    keptBytes = 0
    return bytes !== null && bytes.length === 0 ? [] : [{ index: index++, bytes, endOffset }]
  }
  return {
    push(piece) {
      const items: RawItem[] = []
      let from = 0
      for (let at = 0; at < piece.length && !hasEnded; at += 1) {
        const byte = piece[at]!
        if (isInText) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isInText = false
        } else if (byte === QUOTE) {
          isInText = true
        } else if (OPENING.has(byte)) {
          depth += 1
          if (depth === 1) from = at + 1
        } else if (CLOSING.has(byte) || (byte === COMMA && depth === 1)) {
          if (byte !== COMMA) depth -= 1
          if (depth > 1 || (depth === 1 && byte !== COMMA)) continue
          keep(piece.subarray(from, at))
          for (const item of take(offset + at + 1)) items.push(item)
          from = at + 1
          hasEnded = depth <= 0
        }
      }
      if (depth > 0) keep(piece.subarray(from))
      offset += piece.length
      return items
    },
    end: () => (hasEnded ? [] : take(offset))
  }
}

/** Line breaks in JSON are only between its parts: as spaces, the element can be a line of JSON lines. */
function onOneLine(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 0x0a || bytes[at] === 0x0d) bytes[at] = 0x20
  let start = 0
  let end = bytes.length
  while (start < end && bytes[start]! <= 0x20) start += 1
  while (end > start && bytes[end - 1]! <= 0x20) end -= 1
  return bytes.subarray(start, end)
}
