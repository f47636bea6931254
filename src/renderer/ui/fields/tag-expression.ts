import { meetsTags } from '../../../shared/tag-terms.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

const TERM = /^!?[^\s|!]+(\|!?[^\s|!]+)*$/
const TERMS_MAX = 20

/** All terms of `eu|us !slow` must match, each by one of its alternatives. Allows spaces around `|` and after `!`. */
export function parseTagExpression(text: string): { terms: string[] } | { problem: string } {
  const tidy = text
    .replace(/[,&]/g, ' ')
    .replace(/\s*\|\s*/g, '|')
    .replace(/!\s+/g, '!')
    .trim()
  const terms = tidy === '' ? [] : [...new Set(tidy.split(/\s+/))]
  const wrong = terms.find((term) => !TERM.test(term))
  if (wrong !== undefined) return { problem: texts.tagTermInvalid(wrong) }
  if (terms.length > TERMS_MAX) return { problem: texts.tooManyTagTerms(TERMS_MAX) }
  return { terms }
}

/** `matches 3 of 5 nodes: eu-1, eu-2, us-1`. If no node matches, says what is missing. */
export function matchWords(
  terms: readonly string[],
  nodes: ReadonlyArray<{ name: string; tags: readonly string[] }>
): { text: string; isEmpty: boolean } {
  const matching = nodes.filter(({ tags }) => meetsTags(terms, tags))
  if (matching.length === 0) {
    const known = new Set(nodes.flatMap(({ tags }) => tags))
    const stranger = terms.flatMap((term) => term.split('|')).find((part) => !part.startsWith('!') && !known.has(part))
    const text = stranger === undefined ? texts.tagsMatchNoNode(nodes.length) : texts.tagUnknown(nodes.length, stranger)
    return { text, isEmpty: true }
  }
  const named = matching.slice(0, 4).map(({ name }) => name)
  const text = texts.tagsMatchNodes(matching.length, nodes.length, named, matching.length - named.length)
  return { text, isEmpty: false }
}
