const MAX_TEXT = 1000

/**
 * A message without its variable parts: URLs, quoted values, and every word with a digit (numbers, times, ids, hex,
 * addresses). The rest is what the programmer wrote. `keepsNames`: keeps quoted names too.
 */
export function maskedText(text: string, { keepsNames = false } = {}): string {
  const isName = (quoted: string) => keepsNames && NAME.test(quoted)
  return (
    text
      .slice(0, MAX_TEXT)
      .replace(URL, '<url>')
      .replace(QUOTED, (quoted) => (isName(quoted) ? quoted : '<text>'))
      .replace(WITH_DIGIT, (id, at: number, all: string) =>
        isName(all.slice(at - 1, at + id.length + 1)) ? id : '<id>'
      )
      // A list of any length is one value.
      .replace(REPEATED, '<id>')
      .replace(/\s{1,1000}/g, ' ')
      .trim()
  )
}

/** Brackets and punctuation at its end belong to the sentence around it. */
const URL = /\b[a-zA-Z][a-zA-Z\d+.-]{1,20}:\/\/[^\s<>"'`]{0,1000}[^\s<>"'`)\]},.;:]/g
/**
 * Not the apostrophe of `don't`: a quote opens and closes beside what is no letter. One that is still open at the end
 * was cut there.
 */
const QUOTED =
  /(?<![\p{L}\p{N}_])[bBfFrRuU]{0,2}(?:'(?:[^'\\\n]|\\.){0,1000}(?:'|$)|"(?:[^"\\\n]|\\.){0,1000}(?:"|$)|`[^`\n]{1,1000}(?:`|$))(?![\p{L}\p{N}_])/gu
const NAME = /^'[\p{L}_][\p{L}\p{N}_.-]{0,80}'$/u
/** A run of what ids, numbers, times, addresses and paths are made of, with a digit anywhere in it. */
const WITH_DIGIT = /(?<![\p{L}\p{N}_.:,/@%#+-])[\p{L}\p{N}_.:,/@%#+-]{0,1000}\p{N}[\p{L}\p{N}_.:,/@%#+-]{0,1000}/gu
const REPEATED = /<(?:id|text|url)>(?:[\s,;]{1,4}<(?:id|text|url)>){1,1000}/g
