import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AuditRecord } from '../../../shared/contract/index.ts'
import { anAuditRecord } from '../testing/audit.ts'
import { ChainCheck, columnsOf, hashOf, inOrder, NO_HASH, placeEntry, prepareEntry, RECORD_MAX_BYTES } from './chain.ts'

const START = { seq: 0, hash: NO_HASH }

function chainOf(names: readonly string[]) {
  let hash = NO_HASH
  return names.map((operation, at) => {
    const given = prepareEntry(anAuditRecord({ operation, input: JSON.stringify(operation) }))
    const entry = placeEntry(at + 1, given)
    hash = hashOf(hash, entry.record)
    return { ...entry, hash }
  })
}

type Entry = ReturnType<typeof chainOf>[number]

function verify(entries: readonly Entry[], newest: { seq: number; hash: string }) {
  const check = new ChainCheck(START)
  for (const entry of entries) if (!check.add(entry)) break
  return check.end(newest).broken?.seq ?? null
}

/** Each returns the tampered entries and the first one that the check must reject. */
const TAMPERINGS: Record<string, (entries: Entry[], at: number) => { after: Entry[]; first: number }> = {
  'changes the text': (entries, at) => {
    const { record } = entries[at]!
    return { after: entries.with(at, { ...entries[at]!, record: record.replace('anna', 'ben') }), first: at + 1 }
  },
  'changes the text, and computes its hash anew': (entries, at) => {
    const record = entries[at]!.record.replace('anna', 'ben')
    const hash = hashOf(entries[at - 1]?.hash ?? NO_HASH, record)
    return {
      after: entries.with(at, { ...entries[at]!, who: 'ben', record, hash }),
      first: Math.min(at + 2, entries.length)
    }
  },
  'changes what lists are filtered by': (entries, at) => ({
    after: entries.with(at, { ...entries[at]!, who: 'ben' }),
    first: at + 1
  }),
  'deletes one': (entries, at) => ({
    after: entries.toSpliced(at, 1),
    first: at + 1 === entries.length ? at + 1 : at + 2
  }),
  'deletes it and all after it': (entries, at) => ({ after: entries.slice(0, at), first: at + 1 }),
  'exchanges two texts': (entries, at) => {
    const other = (at + 1) % entries.length
    const [one, two] = [entries[at]!, entries[other]!]
    const swapped = entries.with(at, { ...one, record: two.record }).with(other, { ...two, record: one.record })
    return { after: swapped, first: Math.min(at, other) + 1 }
  }
}

it.each(Object.keys(TAMPERINGS))(
  'a change by an attacker who %s is found at the first entry that does not fit',
  (name) => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 20 }), { minLength: 2, maxLength: 20 }), fc.nat(), (names, place) => {
        const entries = chainOf(names.map((one, index) => `${index} ${one}`))
        const newest = { seq: entries.length, hash: entries.at(-1)!.hash }
        expect(verify(entries, newest)).toBeNull()
        const { after, first } = TAMPERINGS[name]!(entries, place % entries.length)
        expect(verify(after, newest)).toBe(first)
      })
    )
  }
)

it('a hash that is stored elsewhere detects a completely rewritten chain', () => {
  const [kept, forged] = [chainOf(['a', 'b', 'c']), chainOf(['a', 'x', 'c'])]
  const has = (entries: Entry[]) => {
    const check = new ChainCheck(START, kept[1]!.hash)
    for (const entry of entries) check.add(entry)
    const { seq, hash } = entries.at(-1)!
    return check.end({ seq, hash })
  }
  expect(has(kept)).toMatchObject({ broken: null, hasExpected: true })
  expect(has(forged)).toMatchObject({ broken: null, hasExpected: false })
})

it('an entry that was sent as JSON with its fields in another order has the same text', () => {
  const given = prepareEntry(anAuditRecord({ targets: [{ noun: 'node', name: 'a' }] }))
  const { record: text } = placeEntry(1, given, [
    { noun: 'node', name: 'a', fields: [{ field: 'slots', before: '1', after: '2' }] }
  ])
  const parsed = JSON.parse(text) as AuditRecord
  const reversed = Object.fromEntries(Object.entries(parsed).toReversed()) as unknown as AuditRecord
  expect(inOrder(reversed)).toBe(text)
})

it('any recorded entry has ordered text with a limited length, at its own place', () => {
  const longer = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.constantFrom('x'.repeat(3_000), '😀'.repeat(900))
  )
  const targets = fc.array(fc.record({ noun: longer, name: longer }), { maxLength: 6 })
  const fields = fc.record({ field: longer, before: longer, after: longer })
  const changes = fc.array(fc.record({ noun: longer, name: longer, fields: fc.array(fields, { maxLength: 8 }) }), {
    maxLength: 25
  })
  fc.assert(
    fc.property(
      ...([fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), longer, fc.option(longer), targets, changes] as const),
      (seq, input, project, named, changed) => {
        const given = anAuditRecord({ input, project, targets: named })
        for (const some of [[], changed]) {
          const { record, ...columns } = placeEntry(seq, prepareEntry(given), some)
          const read = JSON.parse(record) as AuditRecord
          expect(inOrder(read)).toBe(record)
          expect(columns).toEqual(columnsOf(read))
          expect(read.seq).toBe(seq)
          expect(Buffer.byteLength(record)).toBeLessThanOrEqual(RECORD_MAX_BYTES)
        }
      }
    )
  )
})
