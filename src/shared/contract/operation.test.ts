import { oc } from '@orpc/contract'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { contract, listOperations, type Operations } from './index.ts'
import { ALL_PERMISSIONS, includes, NONE, PROJECT_PERMISSIONS, READ } from '../permissions.ts'
import { nodePermissionsIn } from '../roles.ts'

const OPERATIONS = listOperations(contract)

describe('every operation of the contract', () => {
  it.each([...OPERATIONS])('%s has the metadata that a server needs', (_name, operation) => {
    const { meta, route } = operation['~orpc']
    expect(meta.needs).not.toBe(NONE)
    // If a permission is needed in the projects or node groups of a named thing, roles must be able to give it there.
    if (typeof meta.about === 'object') {
      const isOfNodes = Object.values(meta.about).some((thing) => thing === 'node' || thing === 'newNode')
      const given = isOfNodes ? nodePermissionsIn(ALL_PERMISSIONS) : PROJECT_PERMISSIONS
      expect(includes(given, meta.needs)).toBe(true)
    }
    // A GET must not change anything, because browsers and proxies repeat it freely. All others accept a key.
    expect([route.method === 'GET' ? meta.writes : false, meta.takesKey]).toEqual([false, route.method !== 'GET'])
    if (meta.repeatableForMs !== undefined) expect(meta.takesKey).toBe(true)
  })

  it('is listed by name', () => {
    expect([...OPERATIONS.keys()]).toEqual(
      expect.arrayContaining(['crawl', 'jobs.run', 'fleetFile.apply', 'system.status'])
    )
  })

  it('must be declared with metadata', () => {
    // @ts-expect-error -- declared without metadata.
    const bare: Operations = { list: oc.route({ method: 'GET', path: '/bare' }) }
    expect(Object.keys(bare)).toEqual(['list'])
  })

  it("needs only the right to read if it writes nothing, or only the user's own data", () => {
    const writes = [...OPERATIONS].filter(([, { '~orpc': of }]) => of.meta.writes && of.meta.needs === READ)
    expect(writes.map(([name]) => name)).toEqual([
      'users.changePassword',
      'secondFactors.beginAuthenticator',
      'secondFactors.confirmAuthenticator',
      'secondFactors.removeAuthenticator',
      'secondFactors.renewRecoveryCodes',
      'secondFactors.beginPasskey',
      'secondFactors.addPasskey',
      'secondFactors.removePasskey',
      'tokens.create',
      'tokens.revoke',
      'sessions.revoke',
      'signIns.approve',
      'signIns.deny'
    ])
  })

  it('is marked if its response has a secret, which is then not stored for repeated requests', () => {
    const telling = [...OPERATIONS].filter(([, { '~orpc': of }]) => hasSecret(of.outputSchema))
    expect(telling.map(([name]) => name)).toEqual(expect.arrayContaining(['tokens.create', 'nodes.addPulling']))
    expect(telling.filter(([, { '~orpc': of }]) => of.meta.tellsSecret === undefined).map(([name]) => name)).toEqual([])
  })

  // A write declared with `ask` would be open to viewers. Add an operation here only after checking that it only
  // reads.
  it('changes something, unless it is a GET or one of the few queries that are too long for one', () => {
    const asks = [...OPERATIONS].filter(([, { '~orpc': of }]) => !of.meta.writes && of.route.method !== 'GET')
    expect(asks.map(([name]) => name)).toEqual([
      ...['jobs.count', 'nodes.probe', 'schedules.preview', 'schedules.planBackfill'],
      'alertRules.preview',
      'fleetFile.plan',
      ...['storage.preview', 'logs.zip', 'items.page', 'items.diff', 'items.export']
    ])
  })
})

describe('a request that was cut off by a crash', () => {
  it.each([
    ['jobs.run', { project: 'shop', spiders: ['a'] }, Number.POSITIVE_INFINITY],
    ['jobs.run', { dedupe: { key: 'k', ttlSeconds: 60 } }, 50_000],
    ['jobs.run', { dedupe: { key: 'k', ttlSeconds: 60, renew: true } }, 0],
    ['jobs.runMany', { jobs: [{ spider: 'a' }, null, { dedupe: { key: 'k', ttlSeconds: 70 } }] }, 60_000],
    ['jobs.runMany', { jobs: 'all' }, Number.POSITIVE_INFINITY],
    ['crawl', { spider: 'a' }, 3_590_000],
    ['crawl', { spider: 'a', cache_seconds: 30 }, 20_000],
    ['crawl', { spider: 'a', interval: '5m', cache_seconds: 1 }, Number.POSITIVE_INFINITY],
    ['crawl', { spider: 'a', ignore_cache: true }, 0],
    ['crawl', { spider: 'a', interval: 300, ignore_cache: 'true' }, 0],
    ['webhooks.create', { name: 'a' }, undefined],
    ['jobs.run', null, Number.POSITIVE_INFINITY]
  ])('to %s with %o can be repeated for %s ms', (name, body, expected) => {
    expect(OPERATIONS.get(name)!['~orpc'].meta.repeatableForMs?.(body)).toBe(expected)
  })

  it('to crawl can be repeated for as long as the server remembers orders', () => {
    const { repeatableForMs } = OPERATIONS.get('crawl')!['~orpc'].meta
    const forMs = (body: object, crawlCacheSeconds: number) => repeatableForMs?.(body, { crawlCacheSeconds })
    expect(forMs({ spider: 'a' }, 60)).toBe(50_000)
    expect(forMs({ spider: 'a', cache_seconds: 30 }, 60)).toBe(20_000)
    // The response is not cached, but the request's own key finds the job.
    expect(forMs({ spider: 'a' }, 0)).toBe(Number.POSITIVE_INFINITY)
  })
})

type JsonSchema = { type?: unknown; anyOf?: JsonSchema[]; properties?: Record<string, JsonSchema> }

function hasSecret(output: unknown): boolean {
  return output instanceof z.ZodType && tells(z.toJSONSchema(output, { unrepresentable: 'any' }))
}

function tells(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { properties = {} } = schema as JsonSchema
  if ([properties['secret'], properties['token']].some(mayBeText)) return true
  return Object.values(schema).some(tells)
}

const mayBeText = (schema: JsonSchema | undefined): boolean =>
  schema !== undefined && (schema.type === 'string' || (schema.anyOf ?? []).some(mayBeText))
