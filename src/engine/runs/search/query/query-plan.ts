import type { LineQuery } from '../../logs/scan/line-matcher.ts'
import { bitsOf } from '../index/block-filter.ts'
import type { BitTerm } from '../index/index-files.ts'
import { type TextTerm, termOfExpression, termOfText } from '../../logs/scan/text-terms.ts'

/** The maximum number of bits per string. Further bits would rule out nothing more. */
const MAX_BITS = 40

/** The bits that a block's filter must have to contain a matching line. `{ all: [] }`: every block may contain one. */
export function createQueryPlan({ text, isRegex, matchesCase }: LineQuery): BitTerm {
  // Must match the decision in line-matcher.ts.
  const isUnicode = /[^\u0000-\u007f]|\\[pPu]/.test(text)
  const dialect = { ignoresCase: !matchesCase, isUnicode }
  return simplify(toBits(isRegex ? termOfExpression(text, dialect) : termOfText(text, dialect)))
}

function toBits(term: TextTerm): BitTerm {
  if ('all' in term) return { all: term.all.map(toBits) }
  if ('any' in term) return { any: term.any.map(toBits) }
  const { text, isStart, isEnd } = term
  // The text need not end at a word boundary. Only boundaries inside it are certain.
  return { bits: spread(bitsOf(Buffer.from(text), { isStart, isEnd })) }
}

/** Picks bits at even intervals. Bits of words stay first, because they rule out most blocks. */
function spread(bits: number[]): number[] {
  if (bits.length <= MAX_BITS) return bits
  return Array.from({ length: MAX_BITS }, (_, index) => bits[Math.floor((index * bits.length) / MAX_BITS)]!)
}

function simplify(term: BitTerm): BitTerm {
  if ('bits' in term) return term
  if ('all' in term) {
    const parts = term.all.map(simplify).filter((each) => !isEverything(each))
    return parts.length === 1 ? parts[0]! : { all: parts }
  }
  const parts = term.any.map(simplify)
  return parts.some(isEverything) ? EVERYTHING : { any: parts }
}

const EVERYTHING: BitTerm = { all: [] }

export function isEverything(term: BitTerm): boolean {
  return 'bits' in term ? term.bits.length === 0 : 'all' in term && term.all.every(isEverything)
}
