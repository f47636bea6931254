import { ALLOWED_DIFFERENCES } from './allowed-differences.ts'
import type { Finding, Tally } from './pair.ts'

const SHOWN_BODY_CHARACTERS = 1500

export interface ReportOptions {
  seed: number | null
  /** Whether an allowed difference that did not occur is an error. */
  isWhole: boolean
  elapsedMs: number
}

export function describeFinding({ scenario, request, difference, curl, theirs, ours }: Finding): string {
  const lines = [`✗ ${request.method} ${request.path}   (${scenario})`, `    ${curl}`, `    ${difference}`]
  for (const [name, seen] of [
    ['theirs', theirs],
    ['ours  ', ours]
  ] as const) {
    lines.push(`    ${name}: ${seen.status} ${JSON.stringify(seen.headers)}`, `      ${clip(seen.body)}`)
  }
  return lines.join('\n')
}

export function reportOf(tally: Tally, { seed, isWhole, elapsedMs }: ReportOptions): { text: string; isGood: boolean } {
  const lines: string[] = []
  for (const reason of tally.brokenOff) lines.push(`✗ ${reason}`)

  const requests = [...tally.requests.values()].reduce((sum, count) => sum + count, 0)
  const unused = isWhole ? ALLOWED_DIFFERENCES.filter(({ id }) => !tally.used.has(id)) : []
  for (const { id } of unused)
    lines.push(`✗ The allowed difference "${id}" never occurred: take it out of allowed-differences.ts.`)
  lines.push('', 'Requests:')
  for (const [endpoint, count] of [...tally.requests].sort()) lines.push(`  ${String(count).padStart(6)} ${endpoint}`)
  if (tally.used.size > 0) lines.push('Allowed differences that occurred:')
  for (const [id, count] of [...tally.used].sort()) lines.push(`  ${String(count).padStart(6)} ${id}`)
  lines.push(
    `${requests} requests to each side, ${tally.findings.length} differences that are not allowed, ` +
      `${seed === null ? '' : `seed ${seed}, `}${Math.round(elapsedMs / 1000)} s`
  )
  return { text: lines.join('\n'), isGood: tally.findings.length + tally.brokenOff.length === 0 && unused.length === 0 }
}

function clip(body: string): string {
  const line = body.replaceAll('\n', '\n      ')
  return line.length > SHOWN_BODY_CHARACTERS ? `${line.slice(0, SHOWN_BODY_CHARACTERS)}…` : line
}
