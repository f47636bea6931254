import { compileWasm, type WasmMemory } from '../../../runtime/wasm.ts'

/**
 * Summarizes a block of a log, so that a search can rule it out without reading it. Has bits for the block's trigrams
 * and for its words: for every five consecutive word characters, and for whole words of three or four. ASCII letters
 * count as lower case, so one filter serves searches with and without case.
 *
 * Trigrams cannot distinguish ids, because nearly every MiB has every trigram of digits. Five word characters can.
 */

/** The trigram bits come first, then the word bits. */
export const FILTER_BITS = (1 << 16) + (1 << 17)
export const FILTER_BYTES = FILTER_BITS / 8
const LINE_END = Uint8Array.of(0x0a)

/** A table with the lower case of each byte, plus 256 for word characters (`\\b` in a regular expression). */
const WORD = 256
const FOLDED = new Uint16Array(256)
for (let byte = 0; byte < 256; byte += 1) {
  const folded = byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte
  FOLDED[byte] = folded + (/[a-z0-9_]/.test(String.fromCharCode(folded)) ? WORD : 0)
}

/** Assembled from block-bits.wat. */
export const BLOCK_BITS =
  'AGFzbQEAAAABCgJgAX8AYAJ/fwADBQQAAAEBBQMBAAYHFwMGbWVtb3J5AgADYWRkAAEEdGFrZQADCt0IBHgCAX8Be0HAgAwhAQNAIAH9AAQAIQIgAiAC' +
  'QcEA/Q/9cUEa/Q/9JkEg/Q/9Tv1QIQIgASAC/QsEACABIAJB4QD9D/1xQRr9D/0mIAJBMP0P/XFBCv0P/Sb9UCACQd8A/Q/9I/1Q/QsEgIIEIAFBEGoi' +
  'ASAASQ0ACwv6BgIEfwh+IAAQAEHAgAwhAQNAIAEgAEEQa0sEQCAAQRBrIQELIAFBA2shAiACKAIAQQh2QbHz3fF5bEEQdkEBOgAAIAIoAgFBCHZBsfPd' +
  '8XlsQRB2QQE6AAAgAigCAkEIdkGx893xeWxBEHZBAToAACACKAIDQQh2QbHz3fF5bEEQdkEBOgAAIAIoAgRBCHZBsfPd8XlsQRB2QQE6AAAgAigCBUEI' +
  'dkGx893xeWxBEHZBAToAACACKAIGQQh2QbHz3fF5bEEQdkEBOgAAIAIoAgdBCHZBsfPd8XlsQRB2QQE6AAAgAigCCEEIdkGx893xeWxBEHZBAToAACAC' +
  'KAIJQQh2QbHz3fF5bEEQdkEBOgAAIAIoAgpBCHZBsfPd8XlsQRB2QQE6AAAgAigCC0EIdkGx893xeWxBEHZBAToAACACKAIMQQh2QbHz3fF5bEEQdkEB' +
  'OgAAIAIoAg1BCHZBsfPd8XlsQRB2QQE6AAAgAigCDkEIdkGx893xeWxBEHZBAToAACACKAIPQQh2QbHz3fF5bEEQdkEBOgAAIAFBEGoiASAASQ0AC0HA' +
  'gAwhAUGYgAwpAwAhBgNAIAAgAWshAyADQcAAIANBwABJGyEDQn9BwAAgA2utiCEHIAcgAf0ABICCBP1krSAB/QAEkIIE/WStQhCGhCAB/QAEoIIE/WSt' +
  'QiCGIAH9AASwggT9ZK1CMIaEhIMhBSAFQgGGIAZCP4iEIQkgBUIChiAGQj6IhCEKIAVCA4YgBkI9iIQhCyAFQgSGIAZCPIiEIQwgBSAJgyAKIAuDgyAM' +
  'gyEIAkADQCAIUA0BIAEgCHqnQQRraiECIAggCEIBfYMhCCACKAIBQa/W074CbCACLQAAQbHP2bIBbGohBCAEIARBD3ZzQeuUr694bEEPdkEBOgCAgAQM' +
  'AAsLIAkgCoMgCyAHg4MgBSAMIAVCBYYgBkI7iISDhEJ/hYMhCAJAA0AgCFANASAIeqchAiABIAJBBGtqKAIAIQQgBEHt+OzgAmwgBEEIdkEBakG52ujL' +
  'AmwgDCACrYinQQFxGyEEIAggCEIBfYMhCCAEIARBD3ZzQeuUr694bEEPdkEBOgCAgAQMAAsLIAUgBiADrYggBUHAACADa62GhCADQcAARhshBiABQcAA' +
  'aiIBIABJDQALQZiADCAGNwMAQaCADCAAQSBrEAILIAEBeyAB/QAEACECIAAgAf0ABBD9CwQQIAAgAv0LBAALRQEBfwNAIAEgAv0ABABBB/1r/WQ7AQAg' +
  'Av0MAAAAAAAAAAAAAAAAAAAAAP0LBAAgAUECaiEBIAJBEGohAiACIABJDQALCw=='

interface BlockBits {
  memory: WasmMemory
  add(end: number): void
  take(end: number, target: number): void
}

// The addresses in block-bits.wat.
const BEFORE_AT = 196_632
const TEXT_AT = 196_672
const TEXT_BYTES = 65_536

const instantiate = compileWasm<BlockBits>(BLOCK_BITS)

/** The bits of one trigram and one word, computed as in block-bits.wat. `four`: four bytes, the last one highest. */
const trigram = (four: number): number => Math.imul(four >>> 8, 0x9e3779b1) >>> 16
const word = (hash: number): number => (1 << 16) + (Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 15)
const five = (first: number, four: number): number => word(Math.imul(four, 0x27d4eb2f) + Math.imul(first, 0x165667b1))
const whole4 = (four: number): number => word(Math.imul(four, 0x2c1b3c6d))
const whole3 = (four: number): number => word(Math.imul((four >>> 8) + 1, 0x297a2d39))

export class FilterBuilder {
  readonly #bits = instantiate()
  readonly #memory = new Uint8Array(this.#bits.memory.buffer)

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += TEXT_BYTES) {
      const part = bytes.subarray(at, at + TEXT_BYTES)
      this.#memory.set(part, TEXT_AT)
      this.#bits.add(TEXT_AT + part.length)
    }
  }

  /** Ends a log or line. The bytes added next do not continue the previous ones. */
  end(): void {
    this.add(LINE_END)
    this.#memory.fill(0, BEFORE_AT, TEXT_AT)
    // The trigram of the zeros before the first byte. Inputs shorter than 16 bytes set this bit, so it is always set.
    this.#memory[0] = 1
  }

  clear(): void {
    this.#memory.fill(0, 0, TEXT_AT)
  }

  /** Returns the filter and starts an empty one. */
  take(): Uint8Array {
    this.end()
    this.#bits.take(FILTER_BITS, TEXT_AT)
    return this.#memory.slice(TEXT_AT, TEXT_AT + FILTER_BYTES)
  }

  load(filter: Uint8Array): void {
    const seen = this.#memory
    for (let bit = 0; bit < FILTER_BITS; bit += 1) seen[bit]! |= (filter[bit >> 3]! >> (bit & 7)) & 1
  }
}

/** The bits that every block with this text has. `isStart`, `isEnd`: no word character is adjacent at that end. */
export function bitsOf(text: Uint8Array, { isStart = false, isEnd = false } = {}): number[] {
  const folded = Array.from(text, (byte) => FOLDED[byte]!)
  const words: number[] = []
  const trigrams: number[] = []
  let run = 0
  let four = 0
  for (let at = 0; at <= folded.length; at += 1) {
    const isWord = at < folded.length && folded[at]! >= WORD
    if (!isWord) {
      const isWhole = (run < at || isStart) && (at < folded.length || isEnd)
      if (isWhole && run === 3) words.push(whole3(four))
      if (isWhole && run === 4) words.push(whole4(four))
      run = 0
      if (at === folded.length) break
    }
    const first = four & 255
    four = (four >>> 8) | ((folded[at]! & 255) << 24)
    if (isWord) run += 1
    if (run > 4) words.push(five(first, four))
    if (at >= 2) trigrams.push(trigram(four))
  }
  return [...new Set([...words, ...trigrams])]
}

export const hasBit = (filter: Uint8Array, bit: number): boolean => ((filter[bit >> 3]! >> (bit & 7)) & 1) === 1
