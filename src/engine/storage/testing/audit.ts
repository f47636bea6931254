import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AuditRecord } from '../../../shared/contract/index.ts'
import { aNodeId, aProjectName, aWebhookId } from '../../../shared/testing/ids.ts'
import { aStoredNode } from '../../testing/builders.ts'
import { ChainCheck, hashOf, NO_HASH, prepareEntry, RECORD_MAX_BYTES } from '../audit/chain.ts'
import type { NewAuditRecord } from '../../model/records.ts'
import type { Story } from './story.ts'

export const anAuditRecord = (over: Partial<NewAuditRecord> = {}): NewAuditRecord => ({
  atMs: 1_000,
  address: '10.0.0.7',
  door: 'api',
  requestId: 'r-1',
  operation: 'jobs.run',
  project: null,
  who: { userId: null, name: 'anna', role: 'operator', tokenId: null, tokenName: null, session: null },
  targets: [],
  moreTargets: 0,
  input: '{}',
  result: 'done',
  code: null,
  count: 1,
  isCut: false,
  ...over
})

export function describeAudit(story: Story): void {
  const append = (over: Partial<NewAuditRecord> = {}) => story.store.appendAudit(anAuditRecord(over))
  const all = () => story.store.listAuditAfter(0, 1_000)
  const recordOf = ({ record }: { record: string }) => JSON.parse(record) as AuditRecord
  const page = async (filter: Parameters<typeof story.store.pageAudit>[0], before: number | null = null, limit = 100) =>
    story.store.pageAudit(filter, { before, limit })
  const seqsOf = async (filter: Parameters<typeof story.store.pageAudit>[0]) =>
    (await page(filter)).entries.map(({ seq }) => seq)

  async function check() {
    const { deleted, newest } = await story.store.auditChain()
    const checking = new ChainCheck(deleted)
    for (const entry of await story.store.listAuditAfter(deleted.seq, 1_000)) checking.add(entry)
    return checking.end(newest)
  }

  describe('the audit log', () => {
    test('has each entry after the one before it, tied to it by its hash, also after a restart', async () => {
      await append({ operation: 'a' })
      await story.reopen()
      await append({ operation: 'b', project: 'shop' })
      const [first, second] = await all()
      expect([first!.seq, second!.seq]).toEqual([1, 2])
      expect(first!.hash).toBe(hashOf(NO_HASH, first!.record))
      expect(second!.hash).toBe(hashOf(first!.hash, second!.record))
      expect(await story.store.auditChain()).toEqual({
        deleted: { seq: 0, hash: NO_HASH },
        newest: { seq: 2, hash: second!.hash }
      })
      expect(await check()).toMatchObject({ checked: 2, broken: null })
    })

    test('gets the entry of a write in the same transaction, with what the write has changed', async () => {
      const node = aStoredNode({ id: aNodeId('n-1'), name: 'berlin', slots: 2 })
      const withEntry = (call: () => Promise<unknown>) => story.store.withAudit(prepareEntry(anAuditRecord()), call)
      await withEntry(() => story.store.putNode(node))
      await withEntry(() => story.store.putNode({ ...node, slots: 8 }))
      await withEntry(() => story.store.deleteNode(node.id))
      await story.store.putNode(node)
      const changes = (await all()).map((entry) => recordOf(entry).changes)
      expect(changes).toHaveLength(3)
      expect(changes[0]![0]).toMatchObject({ noun: 'node', name: 'berlin' })
      expect(changes[0]![0]!.fields).toContainEqual({ field: 'slots', before: null, after: '2' })
      expect(changes[1]).toEqual([
        { noun: 'node', name: 'berlin', fields: [{ field: 'slots', before: '2', after: '8' }] }
      ])
      expect(changes[2]![0]!.fields).toContainEqual({ field: 'slots', before: '8', after: null })
    })

    test('has no entry of a write that failed, and no gap, whatever was written together with it', async () => {
      const withEntry = (operation: string, call: () => Promise<unknown>) =>
        story.store.withAudit(prepareEntry(anAuditRecord({ operation })), call)
      const limits = (revision: number) => story.store.putLimits({ revision, rules: [] })
      const written = await Promise.allSettled([
        append({ operation: 'before' }),
        withEntry('first', () => limits(1)),
        withEntry('late', () => limits(1)),
        withEntry('next', () => limits(2)),
        withEntry('wrong', () => limits(9)),
        append({ operation: 'after' })
      ])
      expect(written.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, false, true])
      expect((await all()).map(({ seq, operation }) => `${seq} ${operation}`)).toEqual([
        ...['1 before', '2 first', '3 next', '4 after']
      ])
      expect(await check()).toMatchObject({ checked: 4, broken: null })
    })

    test('keeps what it deleted and what it has where a later write of the same transaction fails', async () => {
      for (let seq = 1; seq <= 3; seq += 1) await append({ atMs: seq * 10 })
      const wrong = () => story.store.putLimits({ revision: 9, rules: [] })
      const written = await Promise.allSettled([
        ...[append({ atMs: 40 }), story.store.forgetAudit(25, 10), wrong(), append({ atMs: 50 }), wrong()]
      ])
      expect(written.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, false])
      await story.reopen()
      expect((await all()).map(({ seq }) => seq)).toEqual([3, 4, 5])
      expect(await check()).toMatchObject({ checked: 3, broken: null })
    })

    test('is listed newest first, page by page, and by every filter', async () => {
      const who = { userId: null, role: 'owner', tokenId: null, session: null }
      await append({ atMs: 10, operation: 'nodes.add', who: { ...who, name: 'Anna', tokenName: null } })
      await append({ atMs: 20, operation: 'nodes.update', result: 'failed', code: 'BAD_INPUT' })
      await append({ atMs: 30, operation: 'jobs.run', project: 'shop', input: '{"spider":"100% wool"}' })
      await append({ atMs: 40, operation: 'jobs.run', who: { ...who, name: 'ci', tokenName: 'GitLab' } })
      const first = await page({}, null, 3)
      expect([first.entries.map(({ seq }) => seq), first.nextBefore]).toEqual([[4, 3, 2], 2])
      const rest = await page({}, first.nextBefore, 3)
      expect([rest.entries.map(({ seq }) => seq), rest.nextBefore]).toEqual([[1], null])
      const [newest, second] = first.entries
      expect(newest!.previousHash).toBe(second!.hash)
      expect(rest.entries[0]!.previousHash).toBe(NO_HASH)
      expect(await seqsOf({ who: 'anna' })).toEqual([3, 2, 1])
      expect(await seqsOf({ who: 'gitlab' })).toEqual([4])
      expect(await seqsOf({ operation: 'nodes' })).toEqual([2, 1])
      expect(await seqsOf({ operation: 'nodes.add' })).toEqual([1])
      expect(await seqsOf({ project: 'shop' })).toEqual([3])
      expect(await seqsOf({ result: 'failed' })).toEqual([2])
      expect(await seqsOf({ text: '0% WOOL' })).toEqual([3])
      expect(await seqsOf({ text: '_' })).toEqual([2])
      expect(await seqsOf({ fromMs: 20, untilMs: 40 })).toEqual([3, 2])
      expect(await seqsOf({ fromMs: 41 })).toEqual([])
      expect(await seqsOf({ untilMs: 10 })).toEqual([])
    })

    test('loses only its oldest entries to their age, never the newest, and still fits', async () => {
      for (let seq = 1; seq <= 5; seq += 1) await append({ atMs: seq * 10 })
      expect(await story.store.forgetAudit(10, 10)).toBe(0)
      expect(await story.store.forgetAudit(31, 2)).toBe(2)
      expect(await story.store.forgetAudit(31, 2)).toBe(1)
      expect((await all()).map(({ seq }) => seq)).toEqual([4, 5])
      expect(await check()).toMatchObject({ checked: 2, broken: null })
      expect((await page({})).entries.at(-1)!.previousHash).toBe((await story.store.auditChain()).deleted.hash)
      expect(await story.store.forgetAudit(1_000, 10)).toBe(1)
      await append()
      expect((await all()).map(({ seq }) => seq)).toEqual([5, 6])
      expect(await check()).toMatchObject({ checked: 2, broken: null })
    })

    test('delivers each entry to the webhooks that want it, of their project only', async () => {
      const webhook = {
        kind: 'webhook' as const,
        name: 'siem',
        url: 'https://siem.example/',
        enabled: true,
        createdAtMs: 1,
        events: ['audit.recorded'],
        sealedSecret: null,
        sealedOldSecret: null,
        oldSecretUntilMs: null
      }
      await story.store.putWebhook({ ...webhook, id: aWebhookId('1'.repeat(32)), project: null })
      await story.store.putWebhook({ ...webhook, id: aWebhookId('2'.repeat(32)), project: aProjectName('shop') })
      await append({ project: 'shop' })
      await append({ project: null })
      const { deliveries } = await story.store.listDueDeliveries(10_000, 10)
      expect(deliveries.map(({ webhookId, event }) => `${webhookId[0]} ${event}`).toSorted()).toEqual([
        ...['1 audit.recorded', '1 audit.recorded', '2 audit.recorded']
      ])
      const [{ hash } = { hash: '' }] = await all()
      expect(JSON.parse(deliveries[0]!.body)).toMatchObject({
        data: { entry: { seq: 1, hash, previousHash: NO_HASH } }
      })
    })

    test('has entries of at most 4 KiB, whatever is sent', async () => {
      const long = fc.string({ unit: 'binary', minLength: 200, maxLength: 400 })
      const records = fc.sample(
        fc.record({
          input: long.map((text) => JSON.stringify(text.repeat(20))),
          targets: fc.array(fc.record({ noun: fc.constant('job'), name: long }), { maxLength: 20 }),
          project: fc.option(long.map((text) => text.slice(0, 200)))
        }),
        20
      )
      for (const record of records) await append(record)
      for (const entry of await all()) {
        expect(Buffer.byteLength(entry.record)).toBeLessThanOrEqual(RECORD_MAX_BYTES)
        expect(recordOf(entry).isCut).toBe(true)
      }
      expect(await check()).toMatchObject({ checked: 20, broken: null })
    })
  })
}
