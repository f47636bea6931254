import { MAX_HEAD } from './head-format.ts'

const COLOUR = /\u001b\[[\d;]{0,32}m/g

/** Removes colors from the start of a line, for reading a head. Text after MAX_HEAD stays unchanged. */
export function withoutColours(line: string): { text: string; originOf(at: number): number } {
  const cuts: { at: number; length: number }[] = []
  let removed = 0
  const head = line.slice(0, 2 * MAX_HEAD).replace(COLOUR, (colour, index: number) => {
    cuts.push({ at: index - removed, length: colour.length })
    removed += colour.length
    return ''
  })
  return {
    text: head + line.slice(2 * MAX_HEAD),
    // A color right before the message belongs to the message.
    originOf: (at) => cuts.reduce((origin, cut) => (cut.at < at ? origin + cut.length : origin), at)
  }
}
