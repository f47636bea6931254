/**
 * Log text is untrusted: it comes from spiders and the sites they crawl. A terminal executes control sequences, so
 * only colors and basic styles are kept (SGR 0–4, 7 and their resets; 16, 256 and true colors). Titles, hyperlinks,
 * clipboard writes (OSC), device queries, cursor movement, blinking and concealed text are removed, and so are
 * characters that reverse the text direction.
 */
export function sanitiseLine(text: string): string {
  if (!SUSPECT.test(text)) return text
  let coloured = false
  const clean = text
    .replace(STRING_SEQUENCE, '')
    .replace(CONTROL_SEQUENCE, (_whole, parameters: string, end: string) => {
      const codes = end === 'm' ? colourCodes(parameters) : ''
      if (codes === '') return ''
      coloured = true
      // At this point, the text cannot contain MARK. The marker protects the codes from the following steps.
      return `${MARK}[${codes}m`
    })
    .replace(OTHER_ESCAPE, '')
    .replace(UNWANTED, '')
    .replaceAll(MARK, '\u001b')
  return coloured ? `${clean}\u001b[0m` : clean
}

export function withoutColours(sanitised: string): string {
  return sanitised.includes('\u001b') ? sanitised.replace(SGR, '') : sanitised
}

export const plainText = (text: string): string => withoutColours(sanitiseLine(text))

// A private-use character. STRING_SEQUENCE removes it from the input first, so every later one comes from this code.
const MARK = '\ue0ff'
const SUSPECT = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ue0ff]/
/**
 * Matches OSC, DCS, SOS, PM and APC, with their payload if they are terminated. Matches only the start of an
 * unterminated sequence. The payload ends at the next start, so that many unterminated starts do not each scan to the
 * end of the line.
 */
const STRING_SEQUENCE =
  /(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f\ue0ff]{0,65536}(?:\u0007|\u001b\\|\u009c)|\ue0ff/g
const CONTROL_SEQUENCE = /(?:\u001b\[|\u009b)([0-?]{0,128})[ -/]{0,16}([@-~])/g
const OTHER_ESCAPE = /\u001b(?:[ -/]{0,4}[0-~])?/g
const UNWANTED = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const SGR = /\u001b\[[0-9;]*m/g

/** The color codes of one SGR sequence, without other codes (blink, conceal, fonts). */
function colourCodes(parameters: string): string {
  if (!/^[0-9;]*$/.test(parameters)) return ''
  const codes = parameters.split(';').map(Number)
  const kept: number[] = []
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] as number
    if (code === 38 || code === 48) {
      const length = codes[at + 1] === 5 ? 3 : codes[at + 1] === 2 ? 5 : 1
      const colour = codes.slice(at, at + length)
      if (length > 1 && colour.length === length && colour.every((part) => part <= 255)) kept.push(...colour)
      at += length - 1
    } else if (isPlainColour(code)) kept.push(code)
  }
  return kept.join(';')
}

function isPlainColour(code: number): boolean {
  return (
    (code >= 0 && code <= 4) ||
    code === 7 ||
    (code >= 22 && code <= 24) ||
    code === 27 ||
    (code >= 30 && code <= 49) ||
    (code >= 90 && code <= 107)
  )
}
