import { implement } from '@orpc/server'
import { type AuditEntry, type AuditFilter, contract } from '../../shared/contract/index.ts'
import type { FakeWorld } from './fake-world.ts'

const MINUTE_MS = 60_000
const hashOf = (seq: number) => seq.toString(16).padStart(64, '0')

export function createFakeAudit({ firstRun }: FakeWorld) {
  const os = implement(contract)
  const nowMs = Date.now()
  const entries: AuditEntry[] = []
  const add = (over: Partial<AuditEntry>) => {
    const seq = entries.length + 1
    entries.push({
      seq,
      atMs: nowMs,
      address: null,
      door: 'ui',
      requestId: `5f0c2a9d1e7b${1000 + seq}`,
      project: null,
      who: { userId: null, name: 'owner', role: 'owner', tokenId: null, tokenName: null, session: null },
      operation: 'login',
      targets: [],
      moreTargets: 0,
      input: 'null',
      changes: [],
      result: 'done',
      code: null,
      count: 1,
      isCut: false,
      previousHash: hashOf(seq - 1),
      hash: hashOf(seq),
      ...over
    })
  }
  if (!firstRun) for (const entry of fakeEntries(nowMs)) add(entry)
  return {
    record(operation: string, input: unknown) {
      add({ operation, atMs: Date.now(), input: JSON.stringify(input ?? null) })
    },
    handlers: {
      list: os.audit.list.handler(({ input: { before = Number.MAX_SAFE_INTEGER, limit, ...filter } }) => {
        const found = entries.filter((entry) => entry.seq < before && matches(entry, filter)).toReversed()
        const page = found.slice(0, limit)
        return { entries: page, nextBefore: found.length > limit ? page.at(-1)!.seq : null }
      }),
      export: os.audit.export.handler(({ input: { after, limit } }) => {
        const page = entries.filter(({ seq }) => seq > after).slice(0, limit)
        return { entries: page, nextAfter: page.length < limit ? null : page.at(-1)!.seq }
      }),
      verify: os.audit.verify.handler(({ input: { expect } }) => ({
        head: { seq: entries.length, hash: hashOf(entries.length), deletedSeq: 0 },
        checked: entries.length,
        broken: null,
        hasExpected: expect === undefined ? null : entries.some(({ hash }) => hash === expect)
      }))
    }
  }
}

function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  const { who, operation, project, result, fromMs = 0, untilMs = Number.MAX_SAFE_INTEGER, text = '' } = filter
  const includes = (whole: string, part: string) => whole.toLowerCase().includes(part.toLowerCase())
  return (
    (who === undefined || includes(`${entry.who.name} ${entry.who.tokenName ?? ''}`, who)) &&
    (operation === undefined || entry.operation === operation || entry.operation.startsWith(`${operation}.`)) &&
    (project === undefined || entry.project === project) &&
    (result === undefined || entry.result === result) &&
    entry.atMs >= fromMs &&
    entry.atMs < untilMs &&
    includes(JSON.stringify(entry), text)
  )
}

function fakeEntries(nowMs: number): Partial<AuditEntry>[] {
  const nobody = { userId: null, role: null, tokenId: null, tokenName: null, session: null }
  const anna = { userId: '1'.repeat(32), name: 'anna', role: 'operator', tokenId: null, tokenName: null }
  const ofAnna = { who: { ...anna, session: '8c1f20ab77de' }, address: '10.0.0.7' }
  const ci = { userId: '3'.repeat(32), name: 'ci', role: 'deployer', tokenId: '4'.repeat(32), tokenName: 'GitLab' }
  const ofCi = { who: { ...ci, session: null }, address: '10.0.0.12' }
  return [
    { ...ofAnna, atMs: nowMs - 190 * MINUTE_MS, operation: 'login', door: 'login' },
    {
      ...ofAnna,
      atMs: nowMs - 185 * MINUTE_MS,
      operation: 'jobs.run',
      project: 'prices',
      door: 'ui',
      targets: [
        { noun: 'project', name: 'prices' },
        { noun: 'spider', name: 'shoes' }
      ],
      input: '{"project":"prices","spiders":["shoes"],"args":{"token":"••••••"},"secretNames":["token"]}'
    },
    {
      ...ofCi,
      atMs: nowMs - 120 * MINUTE_MS,
      operation: 'addversion.json',
      project: 'prices',
      door: 'scrapyd',
      targets: [
        { noun: 'project', name: 'prices' },
        { noun: 'version', name: 'r41' }
      ],
      input: '{"project":"prices","version":"r41"}'
    },
    {
      atMs: nowMs - 64 * MINUTE_MS,
      operation: 'nodes.update',
      door: 'ui',
      targets: [{ noun: 'node', name: 'eu-1' }],
      input: '{"id":"eu-1","slots":8,"password":"••••••"}',
      changes: [
        {
          noun: 'node',
          name: 'eu-1',
          fields: [
            { field: 'slots', before: '4', after: '8' },
            { field: 'sealedPassword', before: '"••••••"', after: '"••••••"' }
          ]
        }
      ]
    },
    {
      ...ofAnna,
      atMs: nowMs - 41 * MINUTE_MS,
      operation: 'nodes.remove',
      result: 'refused',
      code: 'ROLE_REQUIRED',
      targets: [{ noun: 'node', name: 'eu-1' }],
      input: '{"id":"eu-1"}'
    },
    {
      atMs: nowMs - 12 * MINUTE_MS,
      operation: 'login',
      door: 'login',
      address: '203.0.113.9',
      count: 8,
      result: 'refused',
      code: 'UNAUTHORIZED',
      who: { ...nobody, name: 'admin' }
    },
    {
      atMs: nowMs - 3 * MINUTE_MS,
      operation: 'schedules.setPaused',
      door: 'socket',
      address: null,
      targets: [{ noun: 'schedule', name: 'e'.repeat(32) }],
      input: `{"ids":["${'e'.repeat(32)}"],"paused":true,"note":"the shop is down"}`,
      changes: [
        {
          noun: 'schedule',
          name: 'Shoes, nightly',
          fields: [
            { field: 'paused', before: 'false', after: 'true' },
            { field: 'pauseNote', before: null, after: '"the shop is down"' }
          ]
        }
      ]
    }
  ]
}
