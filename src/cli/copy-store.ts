import { resolve } from 'node:path'
import { type CopyProgress, type CopyResult, copyStore, type StorePlace } from '../engine/storage/copy/copy-store.ts'
import { readPasswordFile } from '../config/option-reader.ts'
import { parsePostgresAddress } from '../engine/runtime/postgres-address.ts'

export interface CopyFlags {
  passwordFile?: string
  restart?: boolean
  json?: boolean
}

/** The minimum time between two progress lines. A table can have thousands of batches. */
const REPORTED_EVERY_MS = 1_000

/** Runs `scrapdeck copy-store`. `print` receives lines for people. Throws what copyStore throws. */
export function runCopy(
  from: string,
  to: string,
  flags: CopyFlags,
  print: (line: string) => void
): { result: CopyResult; text: string } {
  const password = flags.passwordFile === undefined ? null : readPasswordFile(flags.passwordFile)
  const warn = (_facts: object, text: string) => print(text)
  const silent = () => {}
  let reportedMs = -Infinity
  const result = copyStore({
    from: placeOf(from, password),
    to: placeOf(to, password),
    restart: flags.restart ?? false,
    logger: { debug: silent, info: silent, warn, error: warn },
    report(progress) {
      if (performance.now() - reportedMs < REPORTED_EVERY_MS) return
      reportedMs = performance.now()
      print(lineOf(progress))
    }
  })
  return { result, text: describeResult(result, to) }
}

function placeOf(text: string, password: string | null): StorePlace {
  if (/^postgres(ql)?:/.test(text)) return { postgres: parsePostgresAddress(text, password) }
  return { directory: resolve(text) }
}

const lineOf = ({ step, table, rows, total }: CopyProgress): string =>
  `${step} ${table}: ${rows.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}`

function describeResult({ tables, resumed, replacedTexts }: CopyResult, to: string): string {
  const lines = tables
    .filter(({ rows }) => rows > 0)
    .map(({ table, rows, sha256 }) => `${table.padEnd(20)} ${String(rows).padStart(12)}  ${sha256.slice(0, 16)}`)
  if (resumed) lines.push('Continued an interrupted copy.')
  if (replacedTexts > 0) {
    lines.push(`${replacedTexts} texts had a NUL character, which PostgreSQL cannot keep; U+FFFD replaces it.`)
  }
  const name = /^postgres/.test(to) ? 'store = postgres://…' : 'store = sqlite'
  lines.push(`All rows are the same on both sides. Start the service with ${name} to use the copy.`)
  return `${lines.join('\n')}\n`
}
