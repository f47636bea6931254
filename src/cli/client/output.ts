import { stretchAt } from '../../shared/calendar/zones.ts'
import { type Terminal, withoutControls } from './terminal.ts'

export function printLine(terminal: Terminal, text: string): void {
  if (text !== '') terminal.out(`${withoutControls(text)}\n`)
}

/** Formats rows as aligned columns with headers in capitals. If there are no rows, returns `empty`. */
export function table(headers: string[], rows: (string | number | null)[][], empty: string): string {
  if (rows.length === 0) return empty
  const cells = [headers.map((header) => header.toUpperCase()), ...rows.map((row) => row.map(textOf))]
  const widths = headers.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}

function textOf(value: string | number | null): string {
  return value === null || value === '' ? '-' : withoutControls(String(value)).replaceAll(/\s+/g, ' ')
}

/** `2026-11-21 11:18:23`, in `zone` or, by default, in the machine's time zone. */
export function localTime(atMs: number | null, zone?: string): string {
  if (atMs === null) return '-'
  const offsetMs = zone === undefined ? -new Date(atMs).getTimezoneOffset() * 60_000 : stretchAt(zone, atMs).offsetMs
  return new Date(atMs + offsetMs).toISOString().slice(0, 19).replace('T', ' ')
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
