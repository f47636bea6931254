import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Option } from 'commander'
import { type AuditCheck, type AuditEntry, AuditEntry as AuditEntrySchema } from '../../shared/contract/audit.ts'
import { ChainCheck, inOrder } from '../../engine/storage/audit/chain.ts'
import { wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, plural, printLine, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import { since } from '../client/times.ts'

const LISTED = 50
const ENTRIES_AT_ONCE = 500
const REMEMBERED = 10_000

interface ListFlags {
  who?: string
  operation?: string
  project?: string
  result?: AuditEntry['result']
  text?: string
  since?: (nowMs: number) => number
  until?: (nowMs: number) => number
  limit?: number
}

interface ExportFlags {
  output?: string
  after?: number
}

interface VerifyFlags {
  expect?: string
  file?: string
}

export function addAuditCommands({ group }: ClientCommands): void {
  const add = group('audit', 'Who did or tried what: list, export, verify.')

  add(
    'list',
    'List the newest entries of the audit log.',
    (command) =>
      command
        .option('--who <name>', 'part of the name of a user or of a token')
        .option('--operation <name>', 'such as nodes.update, or nodes for all of them')
        .option('--project <name>', 'only of this project')
        .addOption(new Option('--result <result>', 'how it ended').choices(['done', 'refused', 'failed']))
        .option('--text <text>', 'anywhere in the entry')
        .option('--since <when>', 'from a time on, or as long ago as 7d', since)
        .option('--until <when>', 'before a time', since)
        .option('--limit <number>', `at most (default ${LISTED})`, wholeNumber),
    { isDefault: true }
  )(async ({ client, terminal, print }, _words, given: ListFlags) => {
    const { limit = LISTED, since: from, until, who, operation, project, result, text } = given
    const nowMs = terminal.nowMs()
    const filter = {
      who,
      operation,
      project,
      result,
      text,
      ...(from && { fromMs: Math.max(0, from(nowMs)) }),
      ...(until && { untilMs: Math.max(0, until(nowMs)) })
    }
    const entries: AuditEntry[] = []
    for (let before: number | null | undefined; before !== null && entries.length < limit; ) {
      const wanted = Math.min(limit - entries.length, ENTRIES_AT_ONCE)
      const page: Awaited<ReturnType<Client['audit']['list']>> = await client.audit.list({
        ...filter,
        limit: wanted,
        ...(before !== undefined && { before })
      })
      entries.push(...page.entries)
      before = page.nextBefore
    }
    print({ entries }, () => listed(entries))
  })

  add('export', 'Write all entries as JSON lines, the oldest first.', (command) =>
    command
      .option('--output <file>', 'a new file (default: standard output)')
      .option('--after <number>', 'only entries after this one', wholeNumber)
  )(async ({ client, terminal }, _words, { output, after = 0 }: ExportFlags) => {
    const file = output === undefined ? null : await openNew(resolve(terminal.directory, output))
    try {
      let count = 0
      for await (const entries of pagesAfter(client, after)) {
        const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
        if (file === null) terminal.out(lines)
        else await file.write(lines)
        count += entries.length
      }
      if (file !== null) printLine(terminal, `${plural(count, 'line')} in ${output}`)
    } finally {
      await file?.close()
    }
  })

  add('verify', 'Check that no entry was changed or removed.', (command) =>
    command
      .option('--expect <hash>', 'a hash that was kept elsewhere: the log must still have it')
      .option('--file <file>', 'an exported file, without any server')
  )(async (session, _words, { expect, file }: VerifyFlags) => {
    const { terminal, print } = session
    const check =
      file === undefined
        ? await session.client.audit.verify(expect === undefined ? {} : { expect })
        : await verifyFile(resolve(terminal.directory, file), expect ?? null)
    print(check, describeCheck)
    const problem = problemOf(check)
    if (problem !== null) throw new CommandEnd(EXIT_CODES.badOutcome, problem)
  })
}

async function openNew(path: string) {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new CommandEnd(EXIT_CODES.usage, `${path} exists already. Choose another name, or remove it.`)
  }
}

async function* pagesAfter(client: Client, after: number): AsyncGenerator<AuditEntry[]> {
  for (let next: number | null = after; next !== null; ) {
    const page: Awaited<ReturnType<Client['audit']['export']>> = await client.audit.export({
      after: next,
      limit: ENTRIES_AT_ONCE
    })
    yield page.entries
    next = page.nextAfter
  }
}

function listed(entries: AuditEntry[]): string {
  return table(
    ['entry', 'time', 'who', 'from', 'operation', 'on', 'result'],
    entries.map((entry) => [
      ...[entry.seq, localTime(entry.atMs), whoOf(entry), entry.address ?? entry.door, entry.operation],
      ...[targetsOf(entry), `${entry.code ?? entry.result}${entry.count > 1 ? ` ×${entry.count}` : ''}`]
    ]),
    'No entries.'
  )
}

const whoOf = ({ who: { name, tokenName } }: AuditEntry): string =>
  tokenName === null ? name : `${name} (token ${tokenName})`

function targetsOf({ targets, moreTargets, changes }: AuditEntry): string {
  const names = changes.length > 0 ? changes : targets
  const shown = names.slice(0, 3).map(({ noun, name }) => (noun === name ? noun : `${noun} ${name}`))
  const more = names.length - shown.length + (changes.length > 0 ? 0 : moreTargets)
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/** Returns no head, because an export cut off at its end looks like an earlier export. */
async function verifyFile(path: string, expect: string | null): Promise<Omit<AuditCheck, 'head'>> {
  const check = new ChainCheck(null, expect)
  let line = 0
  /** The hashes of recent entries, because a syslog server can receive an entry twice. */
  const hashes = new Map<number, string>()
  const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const text of lines) {
    line += 1
    if (text === '') continue
    const parsed = AuditEntrySchema.safeParse(jsonOf(text))
    if (!parsed.success)
      return { ...check.end(null), broken: { seq: check.lastSeq + 1, problem: `Line ${line} is no entry` } }
    const { hash, previousHash, ...record } = parsed.data
    if (line === 1) check.startAfter(record.seq - 1, previousHash)
    if (hashes.get(record.seq) === hash) continue
    if (!check.add({ seq: record.seq, record: inOrder(record), hash })) break
    hashes.set(record.seq, hash).delete(record.seq - REMEMBERED)
  }
  return check.end(null)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function describeCheck(check: Omit<AuditCheck, 'head'> & { head?: AuditCheck['head'] }): string {
  const { checked, broken, head } = check
  if (broken !== null) return ''
  const deleted =
    head === undefined || head.deletedSeq === 0 ? '' : `, after ${head.deletedSeq} that were deleted by age`
  const newest = head === undefined || head.seq === 0 ? '' : `\nNewest: entry ${head.seq}, hash ${head.hash}`
  return `${checked} ${checked === 1 ? 'entry' : 'entries'} checked${deleted}: none was changed or removed.${newest}`
}

function problemOf({ broken, hasExpected }: Omit<AuditCheck, 'head'>): string | null {
  if (broken !== null)
    return `The chain of hashes breaks at entry ${broken.seq}. ${broken.problem}. Compare it with an export or with syslog.`
  if (hasExpected !== false) return null
  return 'No entry has the expected hash: the log was written anew, or the entry is older than the log is kept. Compare it with an export or with syslog.'
}
