import { cloneElement, isValidElement, type ReactElement, type ReactNode } from 'react'

/**
 * Wraps each text of the UI in ⟦ ⟧, so that a test sees which words on a screen come from the catalogue. The words of
 * parameters stay outside: `sent('eu-1')` becomes `⟦Sent to ⟧eu-1`.
 */
export const pseudo = (texts: object): object =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, wrapped(text)]))

/** The same for messages, wrapped with their parameters, because these can be codes that are words too. */
export function pseudoMessages<Texts extends object>(texts: Texts): Texts {
  const all = Object.entries(texts).map(([code, text]) => [code, (of: unknown) => wrap((text as Text)(of) as string)])
  return { ...(Object.fromEntries(all) as Texts), text: ({ text }: { text: string }) => text }
}

type Text = (...given: unknown[]) => ReactNode

function wrapped(text: unknown): unknown {
  if (typeof text === 'string') return wrap(text)
  return (...given: unknown[]) => {
    const shown = (text as Text)(...given)
    if (typeof shown === 'string') return wrap(shown, stringsIn(given))
    return isValidElement(shown) ? wrapPieces(shown as Rich, stringsIn(given)) : shown
  }
}

type Rich = ReactElement<{ children?: ReactNode }>

/** A sentence with elements: only its own words, and texts that it made of other parameters. */
function wrapPieces(sentence: Rich, given: readonly string[]): Rich {
  const pieces = [sentence.props.children].flat()
  return cloneElement(
    sentence,
    undefined,
    ...pieces.map((piece) => (typeof piece === 'string' ? wrap(piece, given) : piece))
  )
}

function wrap(text: string, given: readonly string[] = []): string {
  const between = given.toSorted((left, right) => right.length - left.length).map(literally)
  const pieces = between.length === 0 ? [text] : text.split(new RegExp(`(${between.join('|')})`))
  return pieces.map((piece, index) => (index % 2 === 0 && /\p{L}/u.test(piece) ? `⟦${piece}⟧` : piece)).join('')
}

const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)

/** Parameters that choose between words and are not shown: the units of alerts. */
const CODES = new Set(['runs', 'items', 'errors', 'jobs', 'hours', 'days'])

function stringsIn(given: unknown): string[] {
  if (typeof given === 'string') return given.length > 1 && !CODES.has(given) ? [given] : []
  return typeof given === 'object' && given !== null && !isValidElement(given)
    ? Object.values(given).flatMap(stringsIn)
    : []
}
