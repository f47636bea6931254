import { ITEM_MAX_BYTES } from './bounds.ts'
import type { RawItem } from './raw-item.ts'

export interface Splitter {
  push(piece: Buffer): RawItem[]
  end(): RawItem[]
}

const NEWLINE = 0x0a

/** Splits JSON lines. Skips empty lines as DuckDB does, so that both number the lines identically. */
export function splitLines(start: { index: number; offset: number }): Splitter {
  let { index, offset } = start
  let kept: Buffer[] = []
  let keptBytes = 0
  const take = (line: Buffer, endOffset: number): RawItem[] => {
    const length = keptBytes + line.length
    const isTooLong = length > ITEM_MAX_BYTES
    const bytes = isTooLong ? null : kept.length === 0 ? line : Buffer.concat([...kept, line], length)
    kept = []
    keptBytes = 0
    return bytes !== null && isBlank(bytes) ? [] : [{ index: index++, bytes, endOffset }]
  }
  return {
    push(piece) {
      const items: RawItem[] = []
      let from = 0
      for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, from)) {
        for (const item of take(piece.subarray(from, at), offset + at + 1)) items.push(item)
        from = at + 1
      }
      offset += piece.length
      const rest = piece.subarray(from)
      keptBytes += rest.length
      if (keptBytes > ITEM_MAX_BYTES) kept = []
      else if (rest.length > 0) kept.push(Buffer.from(rest))
      return items
    },
    end: () => (keptBytes === 0 ? [] : take(Buffer.alloc(0), offset))
  }
}

export function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d && byte !== NEWLINE) return false
  return true
}
