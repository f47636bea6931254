import { WITHOUT_FILES } from '../engine/access/run-rights.ts'
import { describe, expect, it } from 'vitest'
import { SECRET_MASK } from '../shared/contract/index.ts'
import { openWithLimitedUser } from './testing/limited-client.ts'

const TIMING = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
const SECRET = { spiders: ['x'], args: { token: 'hunter2-of-news' }, secretNames: ['token'] }
const MASKED = { ...SECRET, args: { token: SECRET_MASK } }
const OF_NEWS = { ...TIMING, name: 'nightly', jobs: [{ project: 'news', ...SECRET }] }

describe('a name that a schedule of another project already has', () => {
  it.each([false, true])('is refused without the reason, with replace %s', async (replace) => {
    const { client, limited } = await openWithLimitedUser({ shop: 'deployer' })
    const { schedule } = await client.schedules.create(OF_NEWS)
    for (const jobs of [[{ project: 'shop', spiders: ['x'] }], [{ project: 'shop', ...MASKED }]]) {
      await expect(limited.schedules.create({ ...TIMING, name: 'nightly', jobs, replace })).rejects.toMatchObject({
        code: 'SCHEDULE_NAME_TAKEN',
        message: 'The name "nightly" cannot be used; nothing was written. Choose another name'
      })
    }
    expect(await client.schedules.get({ id: schedule.id })).toEqual(schedule)
  })

  it('is refused to a schedule that is renamed', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    await client.schedules.create(OF_NEWS)
    const own = { ...TIMING, name: 'own', jobs: [{ project: 'shop', spiders: ['x'] }] }
    const { schedule } = await limited.schedules.create(own)
    await expect(limited.schedules.update({ ...own, id: schedule.id, name: 'nightly' })).rejects.toMatchObject({
      code: 'SCHEDULE_NAME_TAKEN',
      message: expect.not.stringContaining('replace')
    })
  })

  it('cannot be replaced by a user who can only view that project, or if one of its projects is hidden', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator', news: 'viewer' })
    const { schedule } = await client.schedules.create(OF_NEWS)
    const mixed = [
      { project: 'news', spiders: ['x'] },
      { project: 'hidden', spiders: ['x'] }
    ]
    await client.schedules.create({ ...TIMING, name: 'mixed', jobs: mixed })
    const own = { ...TIMING, jobs: [{ project: 'shop', spiders: ['x'] }], replace: true }
    await expect(limited.schedules.create({ ...own, name: 'nightly' })).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    await expect(limited.schedules.create({ ...own, name: 'mixed' })).rejects.toMatchObject({
      code: 'SCHEDULE_NAME_TAKEN'
    })
    expect(await client.schedules.get({ id: schedule.id })).toEqual(schedule)
  })

  it('can be replaced by an operator of both projects', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator', news: 'operator' })
    const { schedule } = await client.schedules.create(OF_NEWS)
    const own = { ...TIMING, name: 'nightly', jobs: [{ project: 'shop', spiders: ['x'] }], replace: true }
    expect((await limited.schedules.create(own)).schedule).toMatchObject({
      id: schedule.id,
      jobs: [{ project: 'shop' }]
    })
  })
})

describe('a secret value that is sent back masked', () => {
  const REFUSED = { code: 'BAD_INPUT', message: expect.stringContaining('The secret value of "token"') }

  it('is not kept for a schedule whose jobs move to another project', async () => {
    const { client, limited } = await openWithLimitedUser({ news: 'operator', shop: 'deployer' })
    const { schedule } = await client.schedules.create(OF_NEWS)
    const { id } = schedule
    const moved = { ...TIMING, id, name: 'nightly', jobs: [{ project: 'shop', ...MASKED }] }
    await expect(limited.schedules.update(moved)).rejects.toMatchObject(REFUSED)
    await expect(limited.schedules.create({ ...moved, replace: true })).rejects.toMatchObject(REFUSED)
    expect(await client.schedules.get({ id })).toEqual(schedule)
  })

  it('is kept for a schedule whose jobs change their spiders in the same project', async () => {
    const { client, limited, node, until } = await openWithLimitedUser({ news: 'operator' })
    const { id } = (await client.schedules.create(OF_NEWS)).schedule
    const jobs = [{ project: 'news', ...MASKED, spiders: ['y'] }]
    await limited.schedules.update({ ...TIMING, id, name: 'nightly', jobs })
    await limited.schedules.runNow({ id })
    await until(async () => node.running.length > 0)
    expect(node.running).toMatchObject([{ spider: 'y', args: { token: 'hunter2-of-news' } }])
  })

  it('is not kept for a chain whose jobs move to another project', async () => {
    const { client, limited } = await openWithLimitedUser({ news: 'operator', shop: 'deployer' })
    const settings = { name: 'c', project: 'news', spider: '*', on: 'ended' as const }
    const { chain } = await client.chains.create({ ...settings, run: { project: 'news', ...SECRET } })
    const moved = { ...settings, id: chain.id, run: { project: 'shop', ...MASKED } }
    await expect(limited.chains.update(moved)).rejects.toMatchObject(REFUSED)
    expect((await client.chains.list({})).chains).toEqual([chain])
    // If a user who cannot choose code saves the chain, it loses the right to read files of nodes.
    const { chain: kept } = await limited.chains.update({ ...moved, run: { project: 'news', ...MASKED } })
    expect(kept).toEqual({ ...chain, run: { ...chain.run, settings: WITHOUT_FILES } })
  })
})
