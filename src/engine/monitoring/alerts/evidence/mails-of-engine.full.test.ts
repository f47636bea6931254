import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { type Receiver, startMailServer } from '../../../../../e2e/alerts/receivers.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import type { AlertRuleSettings } from '../../../../shared/contract/index.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../../../testing/engine-with-fake-node.ts'
import { until } from '../../../testing/until.ts'

let t: EngineWithFakeNode
let mail: Receiver

beforeEach(async () => {
  mail = await startMailServer()
  onTestFinished(() => mail.stop())
  t = await openEngineWithFakeNode({ webhookNetworks: '127.0.0.1' })
  onTestFinished(() => t.remove())
  await t.prepare()
})

async function watch(watched: AlertWatch, over: Partial<AlertRuleSettings>): Promise<void> {
  const email = { kind: 'email' as const, to: ['ops@example.org'], from: 'deck@example.org' }
  const target = { ...email, host: '127.0.0.1', port: mail.port, security: 'none' as const }
  const { channel } = await t.client.alertChannels.create({ name: 'Mail', target })
  const { usual, compares } = ALERT_WATCHES[watched]
  const rule = { ...usual, watch: watched, comparison: compares[0], name: watched, channels: [channel.id] }
  await t.client.alertRules.create({ ...rule, gatherSeconds: 0, forSeconds: 0, ...over })
}

const runSpider = async (finishReason?: string) => {
  const { jobs } = await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.until(async () => t.node.running.length === 1)
  t.node.end(t.node.running[0]!.jobid, finishReason)
  await t.until(async () => (await t.client.jobs.get({ id: jobs[0]!.id })).job.state === 'ended')
  return jobs[0]!.id
}

/** Advances the clock slowly, because the time limit of reads follows the fake clock. */
const untilMailed = (count: number) =>
  until(
    `${count} mails`,
    () => mail.received.map(({ text }) => text!),
    (texts) => texts.length === count,
    30_000,
    async () => {
      await t.clock.advanceBy(40)
      await delay(10)
    }
  )

it('the mail about a failed spider shows the end of its log and its earlier runs', async () => {
  await runSpider()
  await watch('spider_fails', {})
  const jobId = await runSpider('shutdown')
  const [failed] = await untilMailed(1)
  expect(failed).toContain('Tall bars are failed runs: 1 of 2, the last one.')
  expect(failed).toContain(`Last log lines of shop/prices, job ${jobId}:\n`)
  expect(failed).toMatch(/INFO: Spider closed \(shutdown\)\n/)
  const [alert] = (await t.client.alerts.list({})).alerts
  const shown = {
    log: { subject: 'shop/prices', jobId },
    history: { bars: [{ value: 0 }, { value: 1, tone: 'failed' }] }
  }
  const evidence = await t.client.alerts.evidence({ id: alert!.id })
  expect(evidence).toMatchObject(shown)
  for (const line of evidence.log!.lines) expect(failed).toContain(`  ${line}`)
  expect(failed).toContain(evidence.history!.caption)
  await runSpider()
  const [, over] = await untilMailed(2)
  expect(over).toContain('Tall bars are failed runs: 1 of 3.')
  expect(over).not.toContain('Last lines')
  expect(await t.client.alerts.evidence({ id: alert!.id })).toMatchObject({
    log: evidence.log,
    history: { bars: { length: 3 } }
  })
})

it('some requests for evidence wait for each other, and any beyond that are refused for now', async () => {
  await runSpider()
  await watch('spider_fails', {})
  await runSpider('shutdown')
  await untilMailed(1)
  const { id } = (await t.client.alerts.list({})).alerts[0]!
  const asked = await Promise.allSettled(Array.from({ length: 60 }, () => t.client.alerts.evidence({ id })))
  const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  expect(refused.length).toBeGreaterThan(0)
  for (const reason of refused) expect(reason).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  const read = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  expect(read.length).toBeGreaterThan(4)
  for (const evidence of read) expect(evidence.log?.lines.at(-1)).toMatch(/Spider closed \(shutdown\)$/)
})

it('the mail about a long queue shows how long it was and is now', async () => {
  await watch('queue_length', { threshold: 3 })
  await t.clock.advanceBy(5_000)
  await t.restart(7_200_000)
  for (let job = 0; job < 5; job += 1) await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const [text] = await untilMailed(1)
  expect(text).toMatch(/Waiting jobs in the last [\d.]+ hours:\n {2}Latest: \d jobs\. Earlier: 0 jobs\./)
})
