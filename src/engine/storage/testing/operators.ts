import { describe, expect, test } from 'vitest'
import type { AccessTokenId, GroupId, LimitRule, SourceSettings, UserId } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, aNodeId, aProjectName, aSourceId, branded } from '../../../shared/testing/ids.ts'
import { aStoredBackfill, aStoredSchedule } from '../../testing/builders.ts'
import type {
  StoredAccessToken,
  StoredBackfill,
  StoredGroup,
  StoredSource,
  StoredUser,
  VanishedNode
} from '../../model/records.ts'
import type { Story } from './story.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const changedMeanwhile = { code: 'CHANGED_MEANWHILE' }
const rule = (id: string, over: Partial<LimitRule> = {}): LimitRule => ({
  id,
  project: null,
  spider: null,
  tag: null,
  perNode: false,
  max: 1,
  ...over
})
const aSource = (id: string, over: Partial<StoredSource> = {}): StoredSource => ({
  revision: 1,
  settings: {
    id: aSourceId(id),
    source: { kind: 'file', path: '/nodes' },
    refreshSeconds: 30,
    node: {}
  } satisfies SourceSettings,
  sealedPassword: null,
  ...over
})

const aUser = (id: string, over: Partial<StoredUser> = {}): StoredUser => ({
  id: branded<UserId>(id.repeat(32)),
  name: id,
  kind: 'person',
  role: 'operator',
  enabled: true,
  projects: {},
  nodeGroups: {},
  passwordHash: null,
  createdAtMs: 1,
  sessionsSinceMs: 1,
  lastSeenAtMs: null,
  subject: null,
  vouchedAtMs: null,
  ...over
})
const aToken = (id: string, userId: UserId | null, over: Partial<StoredAccessToken> = {}): StoredAccessToken => ({
  id: branded<AccessTokenId>(id.repeat(32)),
  userId,
  name: 'laptop',
  role: 'viewer',
  hash: id,
  ending: id,
  projects: null,
  nodeGroups: null,
  createdAtMs: 1,
  expiresAtMs: null,
  lastUsedAtMs: null,
  ...over
})
const aGroup = (id: string, over: Partial<StoredGroup> = {}): StoredGroup => ({
  id: branded<GroupId>(id.repeat(32)),
  name: `group ${id}`,
  description: '',
  role: 'viewer',
  projects: {},
  nodeGroups: {},
  members: [],
  createdAtMs: 1,
  ...over
})

export function describeOperators(story: Story): void {
  describe('backfills', () => {
    test('each schedule has its newest, which is changed revision by revision and goes with it', async () => {
      const [one, other] = [aStoredSchedule(), aStoredSchedule()]
      await story.store.putSchedule(one)
      await story.store.putSchedule(other)
      const backfill = aStoredBackfill({ scheduleId: one.id })
      const ofOther = aStoredBackfill({ scheduleId: other.id, id: 'c'.repeat(32), mayGoFirst: false })
      await story.store.putBackfill(backfill)
      await story.store.putBackfill(ofOther)
      await expect(story.store.putBackfill(backfill)).rejects.toMatchObject(changedMeanwhile)
      const byId = (backfills: StoredBackfill[]) => backfills.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      expect(byId(await story.store.listBackfills())).toEqual([backfill, ofOther])
      const next = { ...backfill, revision: 2, id: 'd'.repeat(32), state: 'done' as const, fired: 5, failed: 1 }
      await story.store.putBackfill(next)
      await story.store.deleteSchedules([other.id])
      await story.reopen()
      expect(await story.store.listBackfills()).toEqual([next])
    })
  })

  describe('what is unusual about runs', () => {
    const PAGE = { upTo: null, limit: 30 }
    const SHOP = aProjectName('shop')

    async function endedRun(result: 'succeeded' | 'failed', items: number) {
      const job = await story.enqueue()
      await story.begin(job)
      await story.store.applyChanges([story.change(job, { to: 'running', kind: 'running' })])
      await story.end(job, { result, counts: { pages: 700, items, errors: 0 } })
      return job.id
    }

    test('a spider has the runs that succeeded, newest first', async () => {
      const first = await endedRun('succeeded', 620)
      const failed = await endedRun('failed', 3)
      const second = await endedRun('succeeded', 125)
      await story.enqueue()
      const runs = await story.store.listSuccessfulRuns(SHOP, 'prices', PAGE)
      expect(runs.map(({ jobId, items }) => [jobId, items])).toEqual([
        [second, 125],
        [first, 620]
      ])
      expect(runs[0]).toMatchObject({ pages: 700, errors: 0, startedAtMs: expect.any(Number) })
      expect(await story.store.listSuccessfulRuns(SHOP, 'prices', { ...PAGE, limit: 1 })).toHaveLength(1)
      expect(await story.store.listSuccessfulRuns(SHOP, 'prices', { upTo: failed, limit: 30 })).toHaveLength(1)
      expect(await story.store.listSuccessfulRuns(SHOP, 'prices', { upTo: second, limit: 30 })).toHaveLength(2)
      expect(await story.store.listSuccessfulRuns(SHOP, 'stock', PAGE)).toEqual([])
    })

    test('its items are counted beside what its log said, and before that said anything', async () => {
      const [read, unread] = [await endedRun('succeeded', 620), await endedRun('succeeded', 610)]
      const attemptNumber = anAttemptNumber(1)
      await story.store.recordReadings([{ jobId: read, attemptNumber, figures: '{"pages":700}', errors: [] }])
      const filled = { items: 620, fields: [['__proto__', 600] as [string, number]], hasMoreFields: false }
      for (const jobId of [read, unread, aJobId('f'.repeat(32))]) await story.store.recordFilledFields(jobId, filled)
      expect(JSON.parse((await story.store.findFigures(read, attemptNumber))!)).toMatchObject({ pages: 700 })
      const runs = await story.store.listSuccessfulRuns(SHOP, 'prices', PAGE)
      expect(runs.map(({ jobId, filledFields }) => [jobId, filledFields])).toEqual([
        [unread, filled],
        [read, filled]
      ])
    })

    test('is kept per spider until its next run, and a dismissal as long as the job is the same', async () => {
      const [first, second] = [await endedRun('succeeded', 125), await endedRun('succeeded', 120)]
      const finding = {
        metric: 'items' as const,
        field: null,
        words: 'Items fell',
        value: 125,
        usual: { low: 1, high: 2 }
      }
      const findings = { project: SHOP, spider: 'prices', jobId: first, endedAtMs: 5, findings: [finding] }
      const unseen = { ...findings, isDismissed: false }
      await story.store.putFindings(unseen)
      expect(await story.store.dismissFindings(SHOP, 'prices', second)).toBe(false)
      expect(await story.store.dismissFindings(SHOP, 'prices', first)).toBe(true)
      await story.store.putFindings(unseen)
      await story.reopen()
      expect(await story.store.listFindings()).toEqual([{ ...findings, isDismissed: true }])
      await story.store.putFindings({ ...unseen, jobId: second })
      expect(await story.store.listFindings()).toEqual([{ ...unseen, jobId: second }])
      await story.store.putFindings({ ...unseen, jobId: second, findings: [] })
      await story.store.putFindings({ ...unseen, jobId: aJobId('f'.repeat(32)) })
      expect(await story.store.listFindings()).toEqual([])
    })
  })

  describe('sources of nodes', () => {
    test('are kept in the order in which they were added, and changed revision by revision', async () => {
      const [second, first] = [aSource('b', { sealedPassword: asSealedText('sealed') }), aSource('a')]
      await story.store.putSource(second)
      await story.store.putSource(first)
      await expect(story.store.putSource(second)).rejects.toMatchObject(changedMeanwhile)
      await expect(story.store.putSource(aSource('c', { revision: 2 }))).rejects.toMatchObject(changedMeanwhile)
      const changed = { ...second, revision: 2, sealedPassword: null }
      await story.store.putSource(changed)
      expect(await story.store.listSources()).toEqual([changed, first])
      expect(await story.store.deleteSource(aSourceId('b'))).toBe(true)
      expect(await story.store.deleteSource(aSourceId('b'))).toBe(false)
      expect(await story.store.listSources()).toEqual([first])
    })

    test('nodes that they name no longer are kept until they are named again', async () => {
      const vanished: VanishedNode[] = [
        { nodeId: aNodeId('n-1'), sinceMs: 5, state: 'cordoning' },
        { nodeId: aNodeId('n-2'), sinceMs: 6, state: 'left' }
      ]
      await story.store.putVanishedNodes(vanished)
      await story.store.putVanishedNodes([{ ...vanished[0]!, state: 'cordoned' }])
      expect(await story.store.listVanishedNodes()).toEqual([{ ...vanished[0], state: 'cordoned' }, vanished[1]])
      await story.store.deleteVanishedNodes([aNodeId('n-1'), aNodeId('unknown')])
      expect(await story.store.listVanishedNodes()).toEqual([vanished[1]])
    })
  })

  describe('limits', () => {
    test('are replaced as a whole, in their order, revision by revision', async () => {
      expect(await story.store.getLimits()).toEqual({ revision: 0, rules: [] })
      const first = {
        revision: 1,
        rules: [rule('b', { project: aProjectName('shop'), perNode: true }), rule('a', { tag: 'eu' })]
      }
      await story.store.putLimits(first)
      await expect(story.store.putLimits({ revision: 1, rules: [] })).rejects.toMatchObject(changedMeanwhile)
      expect(await story.store.getLimits()).toEqual(first)
      const second = { revision: 2, rules: [rule('a', { spider: 'price*', max: 0 })] }
      await story.store.putLimits(second)
      expect(await story.store.getLimits()).toEqual(second)
    })
  })

  describe('users and tokens', () => {
    test('are read as they were written, and replaced as a whole', async () => {
      const [anna, ci] = [
        aUser('a', {
          passwordHash: 'argon2id …',
          projects: { shop: 'deployer' } as never,
          nodeGroups: { eu: 'admin' }
        }),
        aUser('c', { kind: 'service', enabled: false, role: null })
      ]
      await story.store.putUser(ci)
      await story.store.putUser(aUser('a'))
      await story.store.putUser(anna)
      const tokens = [
        aToken('1', anna.id, { projects: branded(['shop']), nodeGroups: ['eu'] }),
        aToken('2', null, { role: 'owner', expiresAtMs: 5 })
      ]
      for (const token of tokens) await story.store.addAccessToken(token)
      expect(await story.store.listUsers()).toEqual([anna, ci])
      expect(await story.store.listAccessTokens()).toEqual(tokens)
    })

    test('name roles that were made, which are replaced as a whole and removed', async () => {
      const keeper = { name: 'shop keeper', description: 'in Köln', permissions: ['read', 'jobs.run'], createdAtMs: 5 }
      const other = { ...keeper, name: 'auditor', permissions: ['read', 'a.later.one'] }
      await story.store.putRole({ ...keeper, permissions: [] })
      for (const role of [keeper, other]) await story.store.putRole(role)
      await story.store.putUser(aUser('a', { role: 'shop keeper', projects: { shop: 'shop keeper' } as never }))
      expect(await story.store.listRoles()).toEqual([other, keeper])
      expect(await story.store.listUsers()).toMatchObject([{ role: 'shop keeper', projects: { shop: 'shop keeper' } }])
      expect([await story.store.deleteRole('auditor'), await story.store.deleteRole('auditor')]).toEqual([true, false])
      expect(await story.store.listRoles()).toEqual([keeper])
    })

    test('of one name or one token are refused a second time', async () => {
      await story.store.putUser(aUser('a'))
      await expect(story.store.putUser(aUser('b', { name: 'a' }))).rejects.toThrow()
      await story.store.putUser(aUser('a', { subject: 'oidc i 1', vouchedAtMs: 5 }))
      await expect(story.store.putUser(aUser('c', { subject: 'oidc i 1' }))).rejects.toThrow()
      await story.store.addAccessToken(aToken('1', null))
      await expect(story.store.addAccessToken(aToken('2', null, { hash: '1' }))).rejects.toThrow()
      expect([await story.store.listUsers(), await story.store.listAccessTokens()]).toMatchObject([
        [{ id: aUser('a').id }],
        [{}]
      ])
    })

    test('go together, and only what is there is deleted or seen', async () => {
      const [anna, ben] = [aUser('a'), aUser('b')]
      for (const user of [anna, ben]) await story.store.putUser(user)
      for (const token of [aToken('1', anna.id), aToken('2', ben.id), aToken('3', ben.id)]) {
        await story.store.addAccessToken(token)
      }
      await story.store.recordAccess([ben.id, aUser('z').id], [aToken('2', null).id, aToken('9', null).id], 7)
      expect([await story.store.deleteUser(anna.id), await story.store.deleteUser(anna.id)]).toEqual([true, false])
      const third = aToken('3', ben.id).id
      expect([await story.store.deleteAccessToken(third), await story.store.deleteAccessToken(third)]).toEqual([
        true,
        false
      ])
      expect(await story.store.listUsers()).toEqual([{ ...ben, lastSeenAtMs: 7 }])
      expect(await story.store.listAccessTokens()).toEqual([aToken('2', ben.id, { lastUsedAtMs: 7 })])
    })
  })

  describe('groups of users', () => {
    const [anna, ben] = [aUser('a'), aUser('b')]
    const crawl = aGroup('1', { members: [anna.id, ben.id], projects: { shop: 'deployer' } as never })

    test('are read as they were written, by name, and replaced as a whole', async () => {
      const nodes = aGroup('2', { name: 'eu', role: null, nodeGroups: { eu: 'admin' }, description: 'Nodes in Europe' })
      await story.store.putGroup(aGroup('1', { members: [aUser('c').id, anna.id] }))
      await story.store.putGroup(crawl)
      await story.store.putGroup(nodes)
      expect(await story.store.listGroups()).toEqual([nodes, crawl])
      await expect(story.store.putGroup(aGroup('3', { name: 'eu', members: [ben.id] }))).rejects.toThrow()
      expect(await story.store.listGroups()).toEqual([nodes, crawl])
    })

    test('lose a member that is removed, and nothing else', async () => {
      for (const user of [anna, ben]) await story.store.putUser(user)
      const other = aGroup('2', { members: [anna.id] })
      for (const group of [crawl, other]) await story.store.putGroup(group)
      await story.store.deleteUser(anna.id)
      expect(await story.store.listGroups()).toEqual([
        { ...crawl, members: [ben.id] },
        { ...other, members: [] }
      ])
    })

    test('that are removed leave their members alone', async () => {
      await story.store.putUser(anna)
      await story.store.putGroup(crawl)
      expect([await story.store.deleteGroup(crawl.id), await story.store.deleteGroup(crawl.id)]).toEqual([true, false])
      expect(await story.store.listGroups()).toEqual([])
      expect(await story.store.listUsers()).toEqual([anna])
      await story.store.putGroup({ ...crawl, members: [] })
      expect(await story.store.listGroups()).toEqual([{ ...crawl, members: [] }])
    })
  })
}
