import { expect, onTestFinished, test } from 'vitest'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { RECOMMENDED_POLICY } from '../shared/contract/index.ts'
import { call, openServer } from './testing/call.ts'

test('storage shows the disk usage, and what retention would delete and free before it does', async () => {
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  await engine.prepare()
  for (let count = 0; count < 2; count += 1) {
    const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
    await engine.until(async () => engine.node.running.length === 1)
    engine.node.endAll()
    await engine.until(async () => (await engine.client.jobs.get({ id: jobs[0]!.id })).job.state === 'ended')
  }
  await engine.restart(3 * 86_400_000)
  const url = await openServer(engine.engine)
  const { username, password } = engine.engine.credentials
  const run = (...words: string[]) => call(words, { url, password, environment: { SCRAPDECK_USERNAME: username } })
  const usage = (await run('storage', 'usage')).out
  expect(usage).toMatch(/^shop +\d.*\nDatabase: .* · search index: .* · caches: /m)
  expect(usage).toContain('Retention: no policy is set, nothing is deleted')

  expect((await run('storage', 'prune', '--yes')).out).toBe(
    'Retention would delete nothing.\nNo policy is set, so nothing is deleted. The preview uses the recommended policy. Set a policy in Settings or in a fleet file.\n'
  )
  const jobs = { days: null, perSpider: 1, bytes: null }
  const defaults = { ...RECOMMENDED_POLICY.defaults, jobs, logs: jobs }
  await engine.client.storage.setPolicy({ revision: 0, policy: { ...RECOMMENDED_POLICY, defaults, paused: true } })
  const shown = (await run('storage', 'prune')).out
  expect(shown).toMatch(/^shop +jobs +1 +\d/m)
  expect(shown).toMatch(/^shop +logs +1 +\d/m)
  expect(shown).toMatch(/\nFrees \d.* [kM]?B\.\nNothing was deleted\. Add --yes to delete it now\.\n$/)
  expect((await run('storage', 'prune', '--yes')).out).toContain('Not started: retention is paused')
  const asJson = JSON.parse((await run('storage', 'prune', '--json')).out)
  expect(asJson).toMatchObject({ preview: { isCut: false }, isPolicySet: true, started: false })

  await engine.client.storage.setPolicy({ revision: 1, policy: { ...RECOMMENDED_POLICY, defaults } })
  await engine.until(async () => (await engine.client.jobs.list({})).jobs.length === 1)
  await engine.until(async () => (await engine.client.storage.usage()).retention.state === 'idle')
  expect((await run('storage', 'prune', '--yes')).out).toBe(
    'Retention would delete nothing.\nDeleting in the background.\n'
  )
})
