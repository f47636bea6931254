import { createRouterClient } from '@orpc/server'
import { beforeAll, afterAll, expect, it } from 'vitest'
import { type Receiver, startMailServer } from '../../e2e/alerts/receivers.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { ALERT_WATCHES, type AlertWatch, SCOPE_OF } from '../shared/alert-watches.ts'
import { contract, listOperations } from '../shared/contract/index.ts'
import { PROJECT_ROLES } from '../shared/roles.ts'
import { branded } from '../shared/testing/ids.ts'
import { exampleOf } from '../shared/examples/operations.ts'
import { inputWith } from './testing/inputs.ts'
import { outcome } from './testing/outcome.ts'
import { plantTraces, ruleOf } from './testing/traces-of-others.ts'
import { fillTwoProjects, OTHER, SECRET, type TwoProjects } from './testing/two-projects.ts'

/**
 * All strings in a hidden project, and in things that two projects share, contain a marker. No response may contain a
 * marker.
 */
let t: TwoProjects
let mail: Receiver
let planted: Awaited<ReturnType<typeof plantTraces>>

beforeAll(async () => {
  mail = await startMailServer()
  t = await fillTwoProjects(await openEngineWithFakeNode({ webhookNetworks: '127.0.0.1' }))
  planted = await plantTraces(t, mail)
}, 120_000)

afterAll(async () => {
  await t.remove()
  await mail.stop()
})

const FOUND = listOperations(contract)
/** Operations to skip, because the other operations need what they remove or change. */
const TAKES_AWAY =
  /\.(remove|removeMany|cancel|deleteProject|deleteVersion|logOutEverywhere|revokeToken|upload|setPaused|update)$/
const WATCHES = Object.keys(ALERT_WATCHES) as AlertWatch[]
const OF_PROJECTS = WATCHES.filter((watch) => SCOPE_OF[watch].includes('project'))

async function limitedClient(role: (typeof PROJECT_ROLES)[number]) {
  const rights = builtInRights(null, { shop: role })
  const principal: Principal = { ...OWNER, userId: branded('a'.repeat(32)), name: 'anna', role, rights }
  return createRouterClient(await t.engine.router(), { context: { principal, source: 'api' } })
}

const leaksIn = (text: string): string[] => {
  const ids = [...Object.values(t.other).filter((id) => id.length === 32), ...planted.hiddenJobs]
  const words = text.match(new RegExp(`[\\w .:/-]{0,60}${SECRET}[\\w -]*`, 'g')) ?? []
  return [...words, ...ids.filter((id) => text.includes(id))]
}

/** Yields the response of each operation to inputs of the caller's own project. Previews cover each watch. */
async function* answers(client: TwoProjects['client'], isOwner: boolean): AsyncGenerator<[string, string]> {
  for (const [name, { '~orpc': of }] of FOUND) {
    if (TAKES_AWAY.test(name) || (of.meta.about === 'service' && !isOwner)) continue
    if (isOwner && of.meta.writes) continue
    const example = exampleOf(name)?.input ?? {}
    const input = typeof of.meta.about === 'string' ? example : inputWith(name, 'shop', t.own)
    yield [name, await outcome(client, name, typeof of.meta.about === 'string' && /list$/.test(name) ? {} : input)]
  }
  for (const id of planted.jobs) yield ['jobs.get', await outcome(client, 'jobs.get', { id })]
  for (const scheduleId of [planted.moved, planted.noted]) {
    yield ['schedules.get', await outcome(client, 'schedules.get', { id: scheduleId })]
    yield ['schedules.firings', await outcome(client, 'schedules.firings', { scheduleId })]
  }
  for (const watch of OF_PROJECTS) {
    const rule = ruleOf(watch, {
      project: branded('shop'),
      ...(watch === 'spider_overdue' && { spider: 'own-spider' })
    })
    yield [`preview of ${watch}`, await outcome(client, 'alertRules.preview', { ...rule, days: 14 })]
  }
  const { alerts } = await client.alerts.list({})
  for (const { id } of alerts) yield ['alerts.evidence', await outcome(client, 'alerts.evidence', { id })]
  yield ['alerts.notices', await outcome(client, 'alerts.notices', { after: '0' })]
  yield ['events.subscribe', await outcome(client, 'events.subscribe', { after: `0.${'a'.repeat(6)}.0` })]
}

it('an owner reads every planted word, so that the sweep looks for existing ones', async () => {
  let all = ''
  for await (const [, text] of answers(t.client, true)) all += text
  const planted = ['gone', 'note', 'failing', 'of-both', 'into', 'out-of', 'schedule', 'chain', 'rule']
  expect(planted.filter((word) => !all.includes(`${SECRET}-${word}`))).toEqual([])
  const { problems } = await t.client.system.status({})
  const text = JSON.stringify(problems)
  for (const word of ['into', 'out-of', 'gone']) expect(text).toContain(`${SECRET}-${word}`)
})

it.each(PROJECT_ROLES)('no response to a %s of one project contains a word of another', async (role) => {
  const client = await limitedClient(role)
  const leaks: string[] = []
  for await (const [name, text] of answers(client, false)) {
    for (const leak of leaksIn(text)) leaks.push(`${name}: ${leak}`)
  }
  expect([...new Set(leaks)]).toEqual([])
})

it('no e-mail for rules of one project contains a word of another', () => {
  const all = JSON.stringify(mail.received)
  expect(all).toContain('shop/own-failing failed')
  expect(leaksIn(all)).toEqual([])
})

it("a report of one project contains no word of another, but an owner's does", async () => {
  const [limited, owner] = [
    await (await limitedClient('viewer')).alerts.report({ days: 7 }),
    await t.client.alerts.report({ days: 7 })
  ]
  expect(leaksIn(JSON.stringify(limited))).toEqual([])
  expect(JSON.stringify(owner)).toContain(OTHER)
})
