import { setTimeout as delay } from 'node:timers/promises'
import type { Receiver } from '../../../e2e/alerts/receivers.ts'
import { until as untilTrue } from '../../engine/testing/until.ts'
import type { AlertRuleSettings } from '../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../shared/alert-watches.ts'
import { branded } from '../../shared/testing/ids.ts'
import { OTHER, SECRET, type TwoProjects } from './two-projects.ts'

const EACH_MINUTE = { rules: [{ kind: 'interval' as const, everySeconds: 60, anchorMs: 0 }], zone: 'UTC' }
const IN_A_YEAR = { rules: [{ kind: 'once' as const, atMs: Date.UTC(2031, 0, 1) }], zone: 'UTC' }
const SHOP_RUN = { project: 'shop', spiders: ['own-spider'] }
const HIDDEN_RUN = { project: OTHER, spiders: [`${SECRET}-spider`] }
const GONE = { ...HIDDEN_RUN, version: `${SECRET}-gone` }

/** Settings of an alert rule that fires immediately, whatever it watches. */
export function ruleOf(watch: AlertWatch, over: Partial<AlertRuleSettings>): AlertRuleSettings {
  const { usual, compares } = ALERT_WATCHES[watch]
  const scope = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }
  return {
    ...scope,
    ...usual,
    watch,
    comparison: compares[0],
    name: `own ${watch}`,
    enabled: true,
    owner: '',
    channels: [],
    groupBy: 'rule',
    gatherSeconds: 0,
    repeatSeconds: null,
    escalation: null,
    forSeconds: 0,
    ...over
  } as AlertRuleSettings
}

/**
 * Creates things that belong to both projects, or that once belonged to the other one. Each trace of the other project
 * has a unique name.
 */
export async function plantTraces(t: TwoProjects, mailbox: Receiver) {
  const { client, node, until, clock } = t
  const email = { kind: 'email' as const, to: ['ops@example.org'], from: 'deck@example.org' }
  const target = { ...email, host: '127.0.0.1', port: mailbox.port, security: 'none' as const }
  const { channel: mail } = await client.alertChannels.create({ name: 'own mail', target })
  const { channel: desktop } = await client.alertChannels.create({ name: 'own desk', target: { kind: 'desktop' } })
  const channels = [mail.id, desktop.id]
  await client.alertSilences.remove({ id: branded(t.own.alertSilence) })
  const deskOnly = { channels: [desktop.id] }
  await client.alertRules.create(ruleOf('schedule_misses', { name: 'rule of all', ...deskOnly }))
  for (const watch of ['schedule_misses', 'spider_fails', 'job_waits_long', 'error_appears'] as const)
    await client.alertRules.create(ruleOf(watch, { project: branded('shop'), channels }))

  const failing = async (name: string) =>
    (await client.schedules.create({ ...EACH_MINUTE, name, jobs: [GONE] })).schedule
  const [moved, noted, kept] = [await failing('was a'), await failing('was b'), await failing(`${SECRET}-failing`)]
  await client.schedules.create({ ...EACH_MINUTE, name: `${SECRET}-of-both`, jobs: [SHOP_RUN, GONE] })
  await until(async () => {
    const { firings } = await client.schedules.firings({ state: ['failed'] })
    return [moved, noted, kept].every(({ id }) => firings.some(({ scheduleId }) => scheduleId === id))
  })
  await client.schedules.setPaused({ ids: [noted.id], paused: true, note: `${SECRET}-note` })
  for (const { id, name } of [moved, noted]) await client.schedules.update({ ...IN_A_YEAR, id, name, jobs: [SHOP_RUN] })

  const chain = { spider: '*', on: 'ended' as const }
  await client.chains.create({
    ...chain,
    name: `${SECRET}-into`,
    project: OTHER,
    run: { ...SHOP_RUN, version: 'none' }
  })
  await client.chains.create({ ...chain, name: `${SECRET}-out-of`, project: 'shop', run: GONE })
  const ended = async (run: typeof SHOP_RUN) => {
    const { id } = (await client.jobs.run(run)).jobs[0]!
    await until(async () => {
      const { job } = await client.jobs.get({ id })
      if (job.state !== 'ended') node.endAll()
      return job.state === 'ended'
    })
    return id
  }
  await ended(HIDDEN_RUN)
  const { id: failedId } = (await client.jobs.run({ ...SHOP_RUN, spiders: ['own-failing'] })).jobs[0]!
  await until(async () => {
    const run = node.running.find(({ spider }) => spider === 'own-failing')
    if (run === undefined) node.endAll()
    else node.end(run.jobid, 'shutdown')
    return (await client.jobs.get({ id: failedId })).job.status === 'failed'
  })
  await until(async () => {
    const { chains } = await client.chains.list({})
    return ['into', 'out-of'].every((name) => chains.some((one) => one.name === `${SECRET}-${name}` && one.problem))
  })

  const { id: hiddenId } = (await client.jobs.run({ ...HIDDEN_RUN, notBeforeMs: clock.nowMs() + 9e8 })).jobs[0]!
  const after = [{ jobId: hiddenId, on: 'succeeded' as const }]
  const { id: waitingId } = (await client.jobs.run({ ...SHOP_RUN, after })).jobs[0]!
  const { id: skippedBy } = (await client.jobs.run({ ...HIDDEN_RUN, notBeforeMs: clock.nowMs() + 9e8 })).jobs[0]!
  const skippedAfter = [{ jobId: skippedBy, on: 'succeeded' as const }]
  const { id: skippedId } = (await client.jobs.run({ ...SHOP_RUN, after: skippedAfter })).jobs[0]!
  await client.jobs.cancel({ ids: [skippedBy], force: true })
  await clock.advanceBy(1_000)
  // Advance slowly, because the time limit for sending a message uses the fake clock.
  const mailed = () => mailbox.received.some(({ text }) => text?.includes('shop/own-failing failed'))
  await untilTrue('an e-mail', mailed, Boolean, 30_000, async () => {
    await clock.advanceBy(40)
    await delay(10)
  })
  await clock.advanceBy(90_000)
  return { channels, moved: moved.id, noted: noted.id, jobs: [waitingId, skippedId], hiddenJobs: [hiddenId, skippedBy] }
}
