import { STATS_HEADING } from '../../../runs/log-parser/closing-stats.ts'

const LINES_MAX = 30

/**
 * Returns the last lines of a log without Scrapy's closing statistics, which would fill the email. `beginsInLine`:
 * whether the first line can be incomplete.
 */
export function lastLines(text: string, beginsInLine: boolean): string[] {
  const lines = text.split('\n').map((line) => line.trimEnd())
  if (beginsInLine && lines.length > 1) lines.shift()
  return withoutStats(lines)
    .filter((line) => line !== '')
    .slice(-LINES_MAX)
}

function withoutStats(lines: readonly string[]): string[] {
  const heading = lines.findLastIndex((line) => line.endsWith(STATS_HEADING))
  if (heading === -1) return [...lines]
  let end = heading + 1
  // Dictionaries inside the statistics end with a comma. A killed run does not write the end of its statistics.
  while (/^[{ ].*[^}]$/.test(lines[end] ?? '')) end += 1
  if (!/^[{ ].*\}$/.test(lines[end] ?? '')) return [...lines]
  const count = end - heading
  const words = `${lines[heading]!} (${count} ${count === 1 ? 'line' : 'lines'} left out)`
  return [...lines.slice(0, heading), words, ...lines.slice(end + 1)]
}
