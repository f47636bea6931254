import { createRouterClient } from '@orpc/server'
import { describe, expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import { branded } from '../shared/testing/ids.ts'
import { openWithLimitedUser } from './testing/limited-client.ts'
import { ruleOf } from './testing/traces-of-others.ts'

type Opened = Awaited<ReturnType<typeof openWithLimitedUser>>
const SHOP = { project: branded<'shop'>('shop') as never }
const untilOf = ({ clock }: Opened) => clock.nowMs() + 3_600_000
const DESKTOP = { kind: 'desktop' as const }

async function operatorOf(t: Opened, project: string) {
  const rights = builtInRights(null, { [project]: 'operator' })
  const principal = { ...OWNER, userId: branded<'b'>('b'.repeat(32) as never) as never, name: 'ben', rights }
  return createRouterClient(await t.engine.router(), { context: { principal, source: 'api' } })
}

describe('an operator of one project', () => {
  it('cannot use up all silences, even with concurrent requests, and can end its own together', async () => {
    const t = await openWithLimitedUser({ shop: 'operator' })
    const silence = () => t.limited.alertSilences.create({ ...SHOP, untilMs: untilOf(t) })
    const made = await Promise.allSettled(Array.from({ length: 110 }, silence))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    await expect(silence()).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(/^shop already has 100 silences, the most that one project can have: end some,/)
    })
    const news = await operatorOf(t, 'news')
    const { silence: theirs } = await news.alertSilences.create({ project: branded('news'), untilMs: untilOf(t) })
    const { silence: ofAll } = await t.client.alertSilences.create({ untilMs: untilOf(t) })
    const own = (await t.limited.alertSilences.list()).silences.map(({ id }) => id)
    const { removed } = await t.limited.alertSilences.removeMany({ ids: [...own, theirs.id, ofAll.id] })
    expect(removed.toSorted()).toEqual(own.toSorted())
    expect((await t.client.alertSilences.list()).silences.map(({ id }) => id)).toEqual(
      expect.arrayContaining([theirs.id, ofAll.id])
    )
    await silence()
  })

  it('has a share of the rules, which it cannot exceed by moving a rule either, and can remove its own together', async () => {
    const t = await openWithLimitedUser({ shop: 'operator', news: 'operator' })
    const rule = { ...ruleOf('spider_fails', {}), enabled: false }
    const make = (project: string) => t.limited.alertRules.create({ ...rule, project: branded(project) })
    const made = await Promise.allSettled(Array.from({ length: 505 }, () => make('shop')))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(500)
    await expect(make('shop')).rejects.toThrow('shop already has 500 alert rules, the most that one project can have')
    const { rule: other } = await make('news')
    await expect(t.limited.alertRules.update({ ...other, ...SHOP })).rejects.toThrow('shop already has 500 alert rules')
    const viewer = await openViewer(t)
    const ids = (await t.limited.alertRules.list()).rules.map(({ id }) => id)
    await expect(viewer.alertRules.removeMany({ ids })).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    expect((await t.limited.alertRules.removeMany({ ids })).removed).toHaveLength(501)
    expect((await t.client.alertRules.list()).rules).toEqual([])
  })

  it('can name only channels that its project may use; all others seem not to exist', async () => {
    const t = await openWithLimitedUser({ shop: 'operator' })
    const channel = async (name: string, projects: string[]) =>
      (await t.client.alertChannels.create({ name, target: DESKTOP, projects: branded(projects) })).channel
    const [all, shop, news] = [
      await channel('all', []),
      await channel('both', ['news', 'shop']),
      await channel('n', ['news'])
    ]
    expect((await t.limited.alertChannels.names()).channels.map(({ name, projects }) => [name, projects])).toEqual([
      ['all', []],
      ['both', ['shop']]
    ])
    const rule = (id: string) => ({ ...ruleOf('spider_fails', SHOP), channels: [id] as never })
    await t.limited.alertRules.create(rule(all.id))
    const { rule: made } = await t.limited.alertRules.create(rule(shop.id))
    const missing = { code: 'ALERT_CHANNEL_NOT_FOUND' }
    await expect(t.limited.alertRules.create(rule(news.id))).rejects.toMatchObject(missing)
    const escalation = { afterSeconds: 60, channels: [news.id] as never }
    await expect(t.limited.alertRules.update({ ...made, escalation })).rejects.toMatchObject(missing)
    // An owner sees the reason, even for a rule of all projects.
    const refused = { code: 'BAD_INPUT', message: expect.stringContaining('The channel n is for rules of news') }
    await expect(t.client.alertRules.create(rule(news.id))).rejects.toMatchObject(refused)
    await expect(t.client.alertRules.create({ ...rule(news.id), project: null })).rejects.toMatchObject(refused)
  })

  it('sends nothing through a channel that its project may no longer use', async () => {
    const t = await openWithLimitedUser({ shop: 'operator' })
    const { channel } = await t.client.alertChannels.create({ name: 'desk', target: DESKTOP })
    const channels = [channel.id] as never
    for (const project of ['shop', 'news']) {
      const rule = ruleOf('spider_items', { project: branded(project), channels, comparison: 'at_most', threshold: 9 })
      await t.client.alertRules.create(rule)
    }
    await t.client.alertChannels.update({ ...channel, projects: branded(['news']) })
    for (const project of ['shop', 'news']) {
      const { id } = (await t.client.jobs.run({ project, spiders: [`of-${project}`] })).jobs[0]!
      await t.until(async () => {
        t.node.endAll()
        return (await t.client.jobs.get({ id })).job.state === 'ended'
      })
    }
    await t.until(async () => (await t.client.alerts.list({})).alerts.length === 2)
    const told = async () => JSON.stringify((await t.client.alerts.notices({ after: '0' })).notices)
    await t.until(async () => (await told()).includes('of-news'))
    await t.clock.advanceBy(60_000)
    expect(await told()).not.toContain('of-shop')
    // The channel sends the notice when it serves all projects again.
    await t.client.alertChannels.update({ ...channel, projects: [] })
    await t.until(async () => (await told()).includes('of-shop'))
  })
})

async function openViewer(t: Opened) {
  const principal = { ...t.principal, rights: builtInRights(null, { shop: 'viewer' }) }
  return createRouterClient(await t.engine.router(), { context: { principal, source: 'api' as const } })
}
