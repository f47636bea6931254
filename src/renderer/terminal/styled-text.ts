/** Text with colors. Runs are in order and do not overlap; `codes` are the parameters of an SGR sequence. */
export interface StyledText {
  text: string
  runs: Run[]
}

export interface Run {
  from: number
  to: number
  codes: string
}

const SGR = /\u001b\[([0-9;]*)m/g

export function parseColours(sanitised: string): StyledText {
  if (!sanitised.includes('\u001b')) return { text: sanitised, runs: [] }
  const runs: Run[] = []
  let text = ''
  let codes = ''
  let last = 0
  for (const match of sanitised.matchAll(SGR)) {
    add(sanitised.slice(last, match.index))
    codes = after(codes, match[1]!)
    last = match.index + match[0].length
  }
  add(sanitised.slice(last))
  return { text, runs }

  function add(part: string): void {
    if (part !== '' && codes !== '') runs.push({ from: text.length, to: text.length + part.length, codes })
    text += part
  }
}

/**
 * Appends codes. A reset drops all earlier codes. The result is bounded, because a spider can change colors
 * endlessly.
 */
function after(codes: string, more: string): string {
  if (more === '' || more === '0') return ''
  const [, sinceReset] = /(?:^|;)0;(.*)$/.exec(more) ?? []
  return sinceReset ?? (codes === '' || codes.length > 100 ? more : `${codes};${more}`)
}

export function joinStyled(parts: readonly (StyledText | { text: string; codes: string })[]): StyledText {
  const runs: Run[] = []
  let text = ''
  for (const part of parts) {
    const at = text.length
    if (!('codes' in part)) for (const run of part.runs) runs.push({ ...run, from: run.from + at, to: run.to + at })
    else if (part.codes !== '' && part.text !== '')
      runs.push({ from: at, to: at + part.text.length, codes: part.codes })
    text += part.text
  }
  return { text, runs }
}

/** Later layers override earlier ones. */
export function paint(text: string, from: number, to: number, layers: readonly (readonly Run[])[]): string {
  const edges = new Set([from, to])
  for (const layer of layers) {
    for (const run of layer) {
      if (run.to <= from || run.from >= to) continue
      edges.add(Math.max(from, run.from))
      edges.add(Math.min(to, run.to))
    }
  }
  const places = [...edges].sort((one, other) => one - other)
  let painted = ''
  for (let index = 0; index + 1 < places.length; index += 1) {
    const [start, end] = [places[index]!, places[index + 1]!]
    const codes = layers
      .flatMap((layer) => layer.filter((run) => run.from <= start && run.to >= end))
      .map((run) => run.codes)
    const part = text.slice(start, end)
    painted += codes.length === 0 ? part : `\u001b[${codes.join(';')}m${part}\u001b[0m`
  }
  return painted
}
