import { aProjectName, type Plain } from '../../../shared/testing/ids.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECRET_MASK, type WebhookEvent } from '../../../shared/contract/index.ts'
import { normalise } from './check.ts'
import type { FleetForm, ItemOf, Part } from './form.ts'
import { type CurrentFleet, planFleetFile } from './plan.ts'
import { readFleetFile, writeFleetFile } from './yaml.ts'

const NOTHING: CurrentFleet = {
  nodes: [],
  discovery: [],
  projects: [],
  limits: [],
  schedules: [],
  chains: [],
  webhooks: [],
  alerts: [],
  retention: []
}

const read = (text: string) => readFleetFile(`version: 1\n${text}`)

function fleetOf(form: Plain<FleetForm>): CurrentFleet {
  const fleet = structuredClone(NOTHING)
  for (const part of Object.keys(fleet) as Part[]) {
    const items = (form[part] ?? []) as ItemOf<Part>[]
    fleet[part] = items.map((item, index) => ({ id: `${part}-${index}`, item, isOurs: true })) as never
  }
  return fleet
}

const FULL = read(`
nodes:
  - { name: berlin, url: http://10.0.0.5:6800/, username: me, tags: [eu], slots: 4 }
  - { name: here, kind: local, slots: 2 }
discovery:
  - { id: office, source: { kind: dns, hostname: nodes.example, record: A } }
projects:
  - { name: shop, weight: 2, retry: { attempts: 3 } }
limits:
  - { project: shop, max: 5 }
schedules:
  - name: night
    zone: Europe/Berlin
    rules: [{ cron: '0 3 * * *' }, { every: 3600, from: 2026-01-01T00:00:00+01:00 }, { once: 2026-12-24T18:00:00Z }]
    jobs: [{ project: shop, spiders: [prices], node: berlin, args: { day: '{nominal:yyyy-MM-dd}' } }]
chains:
  - { name: then, project: shop, spider: prices, on: succeeded, run: { project: shop, spiders: [report] } }
webhooks:
  - { name: ops, url: https://ops.example/hook, events: [job.ended] }
alerts:
  - { name: nodes, watch: node_down, node: berlin, channels: [Ops], escalation: { afterSeconds: 900, channels: [Boss] } }
retention:
  jobs: { days: 400 }
  logs: { days: 90, perSpider: 50 }
  eggs: { days: 180, newest: 3 }
  projects: { shop: { logs: { days: 30 }, items: {} } }
  budgetBytes: 500000000000
`)

describe('the plan of a fleet file', () => {
  test('is empty for a fleet that matches it, even after the file is written and read again', () => {
    expect(planFleetFile(fleetOf(FULL), FULL, true)).toEqual([])
    const again = readFleetFile(writeFleetFile(FULL, 'a heading\nof two lines'))
    expect(again).toEqual(FULL)
  })

  test('creates everything in an empty fleet, nodes first, and removes everything again, nodes last', () => {
    const made = planFleetFile(NOTHING, FULL, false).map(({ change }) => `${change.act} ${change.noun}`)
    expect(made).toEqual([
      'add node',
      'add node',
      'add discovery',
      'add project',
      'add limits',
      'add schedule',
      'add chain',
      'add webhook',
      'add alert',
      'add retention'
    ])
    const empty = read(
      'nodes: []\ndiscovery: []\nprojects: []\nlimits: []\nschedules: []\nchains: []\nwebhooks: []\nalerts: []'
    )
    const gone = planFleetFile(fleetOf(FULL), empty, true).map(({ change }) => `${change.act} ${change.noun}`)
    expect(gone).toEqual(
      made
        .slice(1, -1)
        .map((text) => text.replace('add', 'remove'))
        .reverse()
    )
    expect(planFleetFile(fleetOf(FULL), empty, false)).toEqual([])
    expect(planFleetFile(fleetOf(FULL), read(''), true)).toEqual([])
  })

  test('names the fields that differ, with old and new values', () => {
    const wanted = structuredClone(FULL)
    wanted.nodes![0]!.tags = ['eu', 'gpu']
    wanted.schedules![0]!.rules = [{ cron: '0 4 * * *' }]
    const changes = planFleetFile(fleetOf(FULL), wanted, true).map(({ change }) => change)
    expect(changes).toEqual([
      { noun: 'node', name: 'berlin', act: 'change', fields: [{ name: 'tags', from: '- eu', to: '- eu\n- gpu' }] },
      {
        noun: 'schedule',
        name: 'night',
        act: 'change',
        fields: [
          {
            name: 'rules',
            from: '- cron: 0 3 * * *\n- every: 3600\n  from: 2025-12-31T23:00:00Z\n- once: 2026-12-24T18:00:00Z',
            to: '- cron: 0 4 * * *'
          }
        ]
      }
    ])
  })

  test('a node behind an SSH host is the same in every notation of its address, but another one without the host', () => {
    const nodes = (url: string) => normalise(read(`nodes: [{ name: inner, url: '${url}' }]`), NOTHING)
    const fleet = fleetOf(nodes('ssh://ops@bastion/http://10.0.0.5:6800/'))
    expect(planFleetFile(fleet, nodes('SSH://ops@bastion/10.0.0.5'), true)).toEqual([])
    expect(planFleetFile(fleet, nodes('http://10.0.0.5'), true).length).toBeGreaterThan(0)
    expect(() => nodes('ssh://ops:secret@bastion/http://x')).toThrow(/does not use passwords for SSH/)
  })

  test('a node with another name at the same address was renamed', () => {
    const wanted = read('nodes: [{ name: kiel, url: http://10.0.0.5:6800/, username: me, tags: [eu], slots: 4 }]')
    const steps = planFleetFile(fleetOf(FULL), wanted, false)
    expect(steps.map(({ id, change }) => [id, change.act, change.fields])).toEqual([
      ['nodes-0', 'change', [{ name: 'name', from: 'berlin', to: 'kiel' }]]
    ])
  })

  test('nodes that other sources manage are left alone', () => {
    const fleet = fleetOf(FULL)
    fleet.nodes[0]!.isOurs = false
    expect(planFleetFile(fleet, read('nodes: [{ name: here, kind: local, slots: 2 }]'), true)).toEqual([])
  })

  test('secrets are kept where dots or nothing replace them, and are never shown; a new one is a change', () => {
    const secret = (value: string, password: string) =>
      read(`
nodes: [{ name: a, url: http://10.0.0.5:6800/, ${password} proxyUrl: 'http://proxy:3128/' }]
chains:
  - { name: c, project: '*', spider: '*', on: ended, run: { project: p, spiders: [s], args: { k: '${value}' }, secretNames: [k] } }`)
    const fleet = fleetOf(secret('v3ry', 'password: hush,'))
    fleet.nodes[0]!.item.proxyUrl = 'http://user:deep@proxy:3128/'
    expect(planFleetFile(fleet, secret(SECRET_MASK, ''), true)).toEqual([])
    expect(planFleetFile(fleet, secret('v3ry', 'password: hush,'), true)).toEqual([])
    const steps = planFleetFile(fleet, secret('n3wer', 'password: loud,'), true)
    const told = JSON.stringify(steps.map(({ change }) => change))
    for (const word of ['v3ry', 'n3wer', 'hush', 'loud', 'deep']) expect(told).not.toContain(word)
    expect(steps.map(({ change }) => change.fields.map(({ name }) => name))).toEqual([['password'], ['run']])
    expect(told).toContain('# another secret value')
  })

  test('is empty after it was carried out', () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const limit = fc.record({
      project: fc.option(name.map(aProjectName), { nil: null }),
      spider: fc.constant(null),
      tag: fc.option(name, { nil: null }),
      perNode: fc.boolean(),
      max: fc.integer({ min: 0, max: 3 })
    })
    const webhook = fc.record({
      name,
      url: fc.constantFrom('https://x.example/1', 'https://x.example/2'),
      events: fc.constant<WebhookEvent[]>(['job.ended']),
      project: fc.constant(null),
      enabled: fc.boolean()
    })
    const form = fc.record({
      version: fc.constant(1 as const),
      limits: fc.array(limit, { maxLength: 5 }),
      webhooks: fc.array(webhook, { maxLength: 5 })
    })
    fc.assert(
      fc.property(form, form, fc.boolean(), (before, wanted, prune) => {
        const fleet = fleetOf(before)
        let made = 0
        for (const { part, id, item } of planFleetFile(fleet, wanted, prune)) {
          const items = fleet[part] as { id: string; item: unknown; isOurs: boolean }[]
          const place = items.findIndex((one) => one.id === id)
          if (id === null) items.push({ id: `new-${(made += 1)}`, item, isOurs: true })
          else if (item === null) items.splice(place, 1)
          else items[place]!.item = item
        }
        expect(planFleetFile(fleet, wanted, prune)).toEqual([])
        if (prune) expect(fleet.webhooks).toHaveLength(wanted.webhooks.length)
      })
    )
  })
})

test('the local node of an engine can be changed by a file, but is not pruned', () => {
  const north = "nodes: [{ name: north, kind: engine, url: 'engine:north', slots: 2 }]"
  const fleet = fleetOf(read(north))
  expect(planFleetFile(fleet, read('nodes: []'), true)).toEqual([])
  expect(planFleetFile(fleet, read(north.replace('slots: 2', 'slots: 4')), true)).toMatchObject([
    { part: 'nodes', id: 'nodes-0', change: { act: 'change', fields: [{ name: 'slots', from: '2', to: '4' }] } }
  ])
  expect(() => normalise(read(north), NOTHING)).toThrow(/no engines with these local nodes: north/)
  expect(normalise(read(north), fleet).nodes).toHaveLength(1)
})
