import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditEntry } from '../shared/contract/index.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, openEngine } from './testing/call.ts'

it('lists who did what, and filters', async () => {
  const { run } = await openEngine({})
  await run('users', 'add', 'ci', '--kind', 'service', '--role', 'deployer')
  await run('users', 'remove', 'nobody')
  const { out } = await run('audit', 'list', '--operation', 'users')
  expect(out).toMatch(
    /^ENTRY +TIME +WHO +FROM +OPERATION +ON +RESULT\n\d+ +\S+ \S+ +\S+ +127\.0\.0\.1 +users\.create +user ci +done\n$/
  )
  expect((await run('audit', '--who', 'anna')).out).toBe('No entries.\n')
  expect((await run('audit', '--until', '1h')).out).toBe('No entries.\n')
})

it('exports JSON lines, and an offline check detects changes to them', async () => {
  const { run } = await openEngine({})
  await run('users', 'add', 'ci', '--kind', 'service', '--role', 'deployer')
  await run('tokens', 'add', 'x', '--user', 'ci')
  await run('users', 'remove', 'ci')
  const directory = makeDirectory()
  const path = join(directory, 'audit.jsonl')
  expect((await run('audit', 'export', '--output', path)).out).toMatch(/^\d+ lines in /)
  expect((await run('audit', 'export', '--output', path)).code).toBe(EXIT_CODES.usage)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as AuditEntry)
  expect(entries.map(({ operation }) => operation).slice(-3)).toEqual(['users.create', 'tokens.create', 'users.remove'])
  expect((await run('audit', 'export', '--after', String(entries.at(-2)!.seq))).out).toBe(`${lines.at(-1)}\n`)

  const verify = (...more: string[]) =>
    call(['audit', 'verify', '--file', path, ...more], { url: 'http://127.0.0.1:9' })
  expect((await verify()).out).toBe(`${lines.length} entries checked: none was changed or removed.\n`)
  expect((await verify('--expect', entries[1]!.hash)).code).toBe(EXIT_CODES.ok)
  const unknown = await verify('--expect', 'f'.repeat(64))
  expect([unknown.code, unknown.error]).toEqual([
    EXIT_CODES.badOutcome,
    expect.stringMatching(/No entry has the expected/)
  ])
  writeFileSync(path, lines.toSpliced(3, 0, lines[1]!, lines[2]!).join('\n'))
  expect((await verify()).code).toBe(EXIT_CODES.ok)
  writeFileSync(path, lines.with(1, lines[1]!.replace('"done"', '"failed"')).join('\n'))
  const changed = await verify()
  expect([changed.code, changed.error]).toEqual([
    EXIT_CODES.badOutcome,
    expect.stringMatching(/^The chain of hashes breaks at entry 2\./)
  ])
  writeFileSync(path, lines.toSpliced(1, 1).join('\n'))
  expect((await verify()).error).toMatch(/^The chain of hashes breaks at entry 3\. It follows entry 1/)
  writeFileSync(path, `${lines[0]}\nnonsense\n`)
  expect((await verify()).error).toMatch(/Line 2 is no entry/)
})

it('verifies the audit log of a server, and prints its newest hash', async () => {
  const { run } = await openEngine({})
  await run('users', 'add', 'ci', '--kind', 'service', '--role', 'deployer')
  const { out, code } = await run('audit', 'verify')
  const hash =
    /^\d+ entr(?:y|ies) checked: none was changed or removed\.\nNewest: entry \d+, hash ([0-9a-f]{64})\n$/.exec(
      out
    )?.[1]
  expect([hash === undefined, code]).toEqual([false, EXIT_CODES.ok])
  expect((await run('audit', 'verify', '--expect', hash!)).code).toBe(EXIT_CODES.ok)
  expect((await run('audit', 'verify', '--expect', 'f'.repeat(64))).code).toBe(EXIT_CODES.badOutcome)
})
