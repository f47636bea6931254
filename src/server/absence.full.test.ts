import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contract, listOperations } from '../shared/contract/index.ts'
import { PROJECT_ROLES } from '../shared/roles.ts'
import { branded } from '../shared/testing/ids.ts'
import type { FakeEngine } from './testing/fake-engine.ts'
import { inputWith } from './testing/inputs.ts'
import { openTestApp } from './testing/test-app.ts'
import { fillTwoProjects, type Ids, OTHER, SECRET, type TwoProjects } from './testing/two-projects.ts'

/**
 * A hidden project gets the same response as a missing one at every endpoint, byte for byte except for the names. The
 * tests send each request twice: once with names and ids of the hidden project, and once with names and ids that do not
 * exist.
 */
interface Things {
  project: string
  /** A word that all names in the project contain. */
  word: string
  ids: Ids
}
type Asked = [name: string, request: InjectOptions]

const FOUND = listOperations(contract)
const TREES = { logs: 'log', items: 'jl' }
let t: TwoProjects
let channel: string
let hidden: Things
let absent: Things

beforeAll(async () => {
  t = await fillTwoProjects()
  const made = await t.client.alertChannels.create({
    name: SECRET,
    target: { kind: 'desktop' },
    projects: [branded(OTHER)]
  })
  channel = made.channel.id
  hidden = { project: OTHER, word: SECRET, ids: t.other }
  const ids = Object.fromEntries(Object.entries(t.other).map(([key, id]) => [key, beside(id)])) as Ids
  absent = { project: 'zzabsent-project', word: 'zzabsent', ids }
}, 120_000)
afterAll(() => t.remove())

/** Returns an absent id. As a cursor of a list, it means the same position as `id`. */
const beside = (id: string) => (id.length < 32 ? '999' : id.slice(0, -1) + (id.endsWith('0') ? '1' : '0'))

type Written = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const json = (method: Written, url: string, payload: unknown): InjectOptions => ({
  method,
  url,
  payload: JSON.stringify(payload),
  headers: { 'content-type': 'application/json' }
})

function callOf(name: string, input: Record<string, unknown>): Asked[] {
  const { method = 'GET', path = '' } = FOUND.get(name)!['~orpc'].route
  const left = { ...input }
  const url = path.replace(/\{(\w+)\}/g, (_whole, field: string) => {
    const value = String(left[field])
    delete left[field]
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const [field, value] of Object.entries(left)) if (value != null) query.append(field, String(value))
  return [
    [`${name} as JSON-RPC`, json('POST', '/api/v1/jsonrpc', { jsonrpc: '2.0', id: 1, method: name, params: input })],
    [`${name} as oRPC`, json('POST', `/api/rpc/${name.replaceAll('.', '/')}`, { json: input })],
    [
      `${name} as REST`,
      method === 'GET'
        ? { method, url: `/api/v1${url}${query.size === 0 ? '' : `?${query}`}` }
        : json(method as Written, `/api/v1${url}`, left)
    ]
  ]
}

/** Calls that combine something hidden with the caller's own things, or use something hidden as a filter or cursor. */
function mixedCalls({ project, word, ids }: Things, own: Ids): [string, Record<string, unknown>][] {
  const run = { project: 'shop', spiders: ['own-spider'] }
  const both = { jobs: [run, { project, spiders: ['x'] }] }
  const once = { rules: [{ kind: 'once', atMs: Date.UTC(2031, 0, 1) }], zone: 'UTC', name: 'one' }
  const rule = {
    name: 'one',
    project: 'shop',
    spider: null,
    watch: 'spider_items',
    comparison: 'at_least',
    threshold: 1
  }
  const how = { forSeconds: 0, severity: 'warning', owner: '', channels: [] as string[] }
  const schedule = { ...rule, ...how, watch: 'schedule_misses', scheduleId: ids.schedule }
  const told = { ...rule, ...how, channels: [project === OTHER ? channel : beside(channel)] }
  const untilMs = t.clock.nowMs() + 1e6
  const filters = [
    { project },
    { scheduleId: ids.schedule },
    { text: word },
    { spider: `${word}-spider` },
    { userId: word }
  ]
  return [
    ...filters.flatMap((filter): [string, Record<string, unknown>][] => [
      ['jobs.list', filter],
      ['jobs.facets', filter]
    ]),
    ['jobs.list', { before: ids.job }],
    ['jobs.list', { before: ids.queued, limit: 1 }],
    ['alerts.list', { ruleId: ids.alertRule }],
    ['alerts.list', { before: `f1-1-${ids.alert}` }],
    ['errors.list', { project }],
    ['findings.dismiss', { project: 'shop', spider: 'own-spider', jobId: ids.job }],
    ['items.diff', { jobId: own.job, before: ids.job }],
    ['logs.searchAll', { text: 'went wrong', project }],
    ['schedules.list', { project }],
    ['schedules.firings', { scheduleId: ids.schedule }],
    ['crawlOrders.list', { project }],
    ['crawlOrders.list', { user_id: word }],
    ['jobs.run', { ...run, after: [{ jobId: ids.job, on: 'ended' }] }],
    ['jobs.run', { ...run, dedupe: { key: `${word}-key`, ttlSeconds: 100 } }],
    [
      'jobs.runMany',
      {
        jobs: [
          { project: 'shop', spider: 'own-spider' },
          { project, spider: 'x' }
        ]
      }
    ],
    ['jobs.reorder', { ids: [own.queued], to: { before: ids.queued } }],
    ['schedules.create', { ...once, ...both }],
    ['schedules.update', { ...once, ...both, id: own.schedule }],
    ['chains.create', { name: 'one', project: 'shop', spider: '*', on: 'failed', run: { project, spiders: ['x'] } }],
    ['chains.create', { name: 'one', project, spider: '*', on: 'failed', run }],
    ['alertRules.create', schedule],
    ['alertRules.preview', { ...schedule, days: 2 }],
    ['alertRules.create', told],
    ['alertRules.preview', { ...told, days: 2 }],
    ['alertRules.update', { ...rule, ...how, project, id: own.alertRule, revision: 1 }],
    ['alertSilences.create', { project: 'shop', ruleId: ids.alertRule, untilMs }],
    ['alertSilences.create', { project: 'shop', scheduleId: ids.schedule, untilMs }],
    ['tokens.create', { name: 'one', projects: [project], expiresInDays: 1 }]
  ]
}

function pagesOf({ project, word, ids }: Things): string[] {
  const spider = `${word}-spider`
  return [
    ...[ids.order, ids.job, ids.schedule].flatMap((id) => [`/crawl/${id}`, `/jobs/${id}/status`, `/jobs/${id}/logs`]),
    ...[`/api/v1/jobs/${ids.job}/logs`, `/api/v1/schedules/${ids.schedule}/logs`],
    `/api/v1/jobs/${ids.job}/items/export`,
    ...['listversions', 'listspiders', 'listjobs'].map((name) => `/${name}.json?project=${project}`),
    ...[`/listspiders.json?project=${project}&_version=${word}-1`, `/listversions.json?project=./${project}/`],
    ...['', `&project=${project}`, '&project=shop'].map((rest) => `/status.json?job=${ids.job}${rest}`),
    ...Object.entries(TREES).flatMap(([tree, ending]) => [
      ...['', '/', `/${spider}/`, `/${spider}/${ids.job}.${ending}`].map((rest) => `/${tree}/${project}${rest}`),
      `/${tree}/shop/own-spider/${ids.job}.${ending}`,
      ...['%2e', 'shop/%2e%2e', ''].map((step) => `/${tree}/${step}/${project}/`)
    ])
  ]
}

function formsOf({ project, word, ids }: Things): [string, Record<string, string>][] {
  return [
    ['/schedule.json', { project, spider: 'x' }],
    ['/schedule.json', { project, spider: `${word}-spider`, _version: `${word}-1` }],
    ['/cancel.json', { project, job: ids.queued }],
    ['/cancel.json', { project: 'shop', job: ids.queued }],
    ['/delversion.json', { project, version: `${word}-1` }],
    ['/delproject.json', { project }],
    ['/delproject.json', { project: `./${project}` }],
    ['/addversion.json', { project, version: `${word}-1`, egg: 'x' }]
  ]
}

function uploadTo({ project, word }: Things): InjectOptions {
  const field = (name: string, value: string, file = '') =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  const egg = field('file', 'no egg', '; filename="a.egg"')
  return {
    method: 'POST',
    url: '/api/v1/projects',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    payload: `${field('project', project)}${field('version', `${word}-1`)}${egg}--x--\r\n`
  }
}

function requestsFor(things: Things): Asked[] {
  const named = [...FOUND].filter(([name, { '~orpc': of }]) => {
    return typeof of.meta.about === 'object' && name !== 'projects.upload'
  })
  return [
    ...named.flatMap(([name]) => callOf(name, inputWith(name, things.project, things.ids) as Record<string, unknown>)),
    ['projects.upload as REST', uploadTo(things)],
    ...mixedCalls(things, t.own).flatMap(([name, input]) => callOf(name, input)),
    ...pagesOf(things).flatMap((url): Asked[] =>
      (['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'] as const).map((method) => [`${method} ${url}`, { method, url }])
    ),
    ...formsOf(things).map(([url, fields]): Asked => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return [`POST ${url}`, { method: 'POST', url, payload: new URLSearchParams(fields).toString(), headers }]
    })
  ]
}

/** Headers that differ in every response. */
const OWN_HEADERS = /^(?:date|x-request-id|content-length|ratelimit-.*)$/
const withoutOwn = (text: string) =>
  text
    .replace(/\b\d{13}\b/g, '<time>')
    .replace(/"rank\\*":\d+/g, '<rank>')
    .replace(/[0-9a-f]{32}/g, '<id>')

/** Replaces the names and ids of the request with `<…>`. */
function whole({ statusCode, headers, body }: LightMyRequestResponse, { project, word, ids }: Things): string {
  const head = Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name))
  const { errorGroup, ...others } = ids
  let text = `${JSON.stringify([statusCode, head])} ${body}`.replaceAll(project, '<project>').replaceAll(word, '<word>')
  for (const [key, id] of Object.entries(others)) text = text.replaceAll(id, `<${key}>`)
  const before = String.raw`(?<=group |no_error_group\W{3,12}params\W{3,12}id\W{2,4})`
  return withoutOwn(text.replaceAll(new RegExp(`${before}${errorGroup}\\b`, 'g'), '<errorGroup>'))
}

async function openDoors(roles: { role: 'owner' } | { projects: Record<string, string> } | { groups: string[] }) {
  const rateLimits = { api: null, endpoints: null, open: null }
  const app = openTestApp({ engine: t.engine as unknown as FakeEngine, rateLimits })
  const name = `robot-${(await t.client.users.list()).users.length}`
  const { user } = await t.client.users.create({ name, kind: 'service', role: null, ...roles } as never)
  const { secret } = await t.client.tokens.create({ name: 'a', userId: user.id, expiresInDays: null })
  const ask = (request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { ...request.headers, authorization: `Bearer ${secret}` } })
  return { ask }
}

/** Sends both requests of a pair in order, so that the second one finds what the first one created. */
async function* pairs(ask: (request: InjectOptions) => Promise<LightMyRequestResponse>) {
  const others = requestsFor(absent)
  for (const [index, [name, request]] of requestsFor(hidden).entries()) {
    const first = await ask(request)
    yield { name, first, second: await ask(others[index]![1]) }
  }
}

it.each([
  ...PROJECT_ROLES.map((role): [string, Record<string, string>] => [`${role} of one project`, { shop: role }]),
  ['deployer of a project that is not there yet', { zzthird: 'deployer' }]
])(
  'a service account gets the same response for another project as for something that does not exist: %s',
  async (_who, projects) => {
    const { ask } = await openDoors({ projects })
    const different: string[] = []
    const statuses = new Set<number>()
    for await (const { name, first, second } of pairs(ask)) {
      statuses.add(first.statusCode)
      const [one, other] = [whole(first, hidden), whole(second, absent)]
      if (one !== other) different.push(`${name}: ${one.slice(-300)} but ${other.slice(-300)}`)
    }
    expect(different).toEqual([])
    // If all requests were rejected before any lookup, equal responses would prove nothing.
    expect([...statuses]).toEqual(expect.arrayContaining([200, 404]))
  }
)

it('a service account that has lost its last role gets one response, whatever it requests', async () => {
  const { group } = await t.client.groups.create({ name: 'crew', projects: { shop: 'deployer' } } as never)
  const { ask } = await openDoors({ groups: [group.id] })
  expect((await ask({ url: '/listprojects.json' })).statusCode).toBe(200)
  await t.client.groups.remove({ id: group.id })
  const answers = new Set<string>()
  for await (const { first, second } of pairs(ask))
    answers.add(`${first.statusCode} ${whole(first, hidden) === whole(second, absent)}`)
  for (const url of ['/', '/jobs', '/metrics', '/logs/', '/items/', '/daemonstatus.json', '/api/v1/system'])
    answers.add(`${(await ask({ url })).statusCode} true`)
  // The token is not valid any more, so it is rejected and, after several requests, rate-limited like a wrong password.
  expect([...answers]).toEqual(['401 true', '429 true'])
})

it('an owner gets another response for what exists, which proves that the sweep requests existing things', async () => {
  const { ask } = await openDoors({ role: 'owner' })
  const others = pagesOf(absent)
  const alike: string[] = []
  for (const [index, url] of pagesOf(hidden).entries()) {
    // Skip endless logs, jobs and schedules that are not crawl orders, and the caller's own project.
    if (/\/logs$|\/crawl\/|shop/.test(url)) continue
    const [first, second] = [await ask({ url }), await ask({ url: others[index]! })]
    if (whole(first, hidden) === whole(second, absent)) alike.push(url)
  }
  expect(alike).toEqual([])
})
