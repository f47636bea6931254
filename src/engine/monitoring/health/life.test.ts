import { expect, it, onTestFinished } from 'vitest'
import { openEngineWithFakeNode } from '../../testing/engine-with-fake-node.ts'
import type { Post } from '../../notify/deliveries/post.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

it.skipIf(isCore)('a whole engine sends its heartbeat, and reports that no receiver gets it', async () => {
  const sent: string[] = []
  let isHeard = true
  const post: Post = async ({ url }) => {
    sent.push(url)
    return isHeard ? { kind: 'status', status: 200, retryAfterSeconds: null } : { kind: 'failed', problem: 'no answer' }
  }
  const t = await openEngineWithFakeNode({ post, heartbeat: { url: 'https://hc.example/secret', everySeconds: 60 } })
  onTestFinished(() => t.remove())
  await t.until(async () => sent.length === 2)
  expect(new Set(sent)).toEqual(new Set(['https://hc.example/secret']))
  isHeard = false
  const problems = async () => (await t.client.system.status()).problems.map(({ id }) => id)
  await t.clock.advanceBy(180_000)
  expect(await problems()).not.toContain('life-signal')
  await t.clock.advanceBy(240_000)
  await t.until(async () => (await problems()).includes('life-signal'))
  isHeard = true
  await t.until(async () => !(await problems()).includes('life-signal'))
})
