import type { AnyProcedure } from '@orpc/server'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { contract } from '../../shared/contract/index.ts'
import { countTurns } from '../testing/count-turns.ts'
import { openTestApp } from '../testing/test-app.ts'
import { parseJsonBody } from './json-body.ts'
import { giveWay, readLongLists, visitInSlices } from './long-lists.ts'
import { checkParts } from './unknown-parts.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const procedure = contract.jobs.runMany as unknown as AnyProcedure
const jobs = (count: number) => Array.from({ length: count }, (_, index) => ({ project: 'shop', spider: `s${index}` }))

describe('a long request', () => {
  it('is parsed in several turns of the event loop, a short one in one', async () => {
    const turns = countTurns()
    expect(await parseJsonBody(JSON.stringify(jobs(10)))).toHaveLength(10)
    expect(turns()).toBe(0)
    expect(await parseJsonBody(JSON.stringify(jobs(10_000)))).toHaveLength(10_000)
    expect(turns()).toBeGreaterThanOrEqual(3)
  })

  it('shares no turn of the event loop with another long one: forty at once delay others no longer than one does', async () => {
    const turns = countTurns()
    const givenIn = await Promise.all(Array.from({ length: 40 }, () => giveWay().then(turns)))
    expect(new Set(givenIn).size).toBe(40)
    const stepsIn: number[] = []
    let nowMs = 0
    const clock = { monotonicMs: () => (nowMs += 10) }
    const visit = () => stepsIn.push(turns()) === 0
    await Promise.all([jobs(5), jobs(5), jobs(5)].map((list) => visitInSlices(list, visit, clock)))
    expect(new Set(stepsIn).size).toBe(15)
  })

  it('lets others run before its unknown parts are searched for, and before its items are validated', async () => {
    const turns = countTurns()
    const readIn = new Set<number>()
    const input = {
      jobs: jobs(60).map((job) => ({
        project: 'shop',
        get spider() {
          readIn.add(turns())
          return job.spider
        }
      }))
    }
    await checkParts({ procedure, operation: 'jobs.runMany', input })
    const [searchedIn] = [...readIn]
    expect(searchedIn).toBeGreaterThan(0)
    readIn.clear()
    await readLongLists({ procedure, input })
    expect(Math.min(...readIn)).toBeGreaterThan(searchedIn!)
  })

  it('has its items visited in slices, until the consumer stops', async () => {
    const turns = countTurns()
    let nowMs = 0
    const clock = { monotonicMs: () => (nowMs += 1) }
    const visited: { item: unknown; turn: number }[] = []
    const visit = (item: unknown) => visited.push({ item, turn: turns() }) === 30
    await visitInSlices(jobs(100), visit, clock)
    expect(visited).toHaveLength(30)
    expect(new Set(visited.map(({ turn }) => turn)).size).toBeGreaterThanOrEqual(5)
  })

  it('is parsed like a short one: with defaults, and without unknown parts', async () => {
    const { inputSchema } = procedure['~orpc'] as unknown as { inputSchema: z.ZodType }
    const input = { jobs: jobs(60).map((job) => ({ ...job, retry: { attempts: 2 }, unknown: 1 })), other: 1 }
    const read = await readLongLists({ procedure, input })
    expect(read.input).toEqual(inputSchema.parse(input))
    expect(read.procedure['~orpc'].inputSchema).toBeUndefined()
  })

  it.each([
    ['a wrong item', [...jobs(70), { project: 'shop', spider: '' }], /jobs\.70\.spider: /],
    ['too many items', jobs(10_001), /jobs: /],
    [
      'an unknown name',
      [...jobs(70), { project: 'shop', spider: 'a', proirity: 1 }],
      /"jobs\.70\.proirity".*"priority"/
    ]
  ])('with %s is rejected over each API, with its place', async (_name, list, message) => {
    const { ask } = openTestApp()
    const post = async (url: string, payload: object) => ask({ method: 'POST', url, headers: JSON_TYPE, payload })
    const rest = await post('/api/v1/jobs/bulk', { jobs: list })
    expect([rest.statusCode, rest.json().code]).toEqual([400, 'BAD_INPUT'])
    expect(rest.json().message).toMatch(message)
    const call = await post('/api/v1/jsonrpc', {
      jsonrpc: '2.0',
      id: 1,
      method: 'jobs.runMany',
      params: { jobs: list }
    })
    expect(call.json().error.message).toBe(rest.json().message)
    // RPC accepts unknown names, because pages that were loaded before an update can send names that no longer exist.
    if (_name === 'an unknown name') return
    const rpc = await post('/api/rpc/jobs/runMany', { json: { jobs: list } })
    expect(rpc.json().json.message).toBe(rest.json().message)
  })

  it('can send numbers as strings over REST, like a short one', async () => {
    const { ask } = openTestApp()
    for (const count of [5, 60]) {
      const payload = { jobs: jobs(count).map((job) => ({ ...job, priority: '5' })) }
      const response = await ask({ method: 'POST', url: '/api/v1/jobs/bulk', headers: JSON_TYPE, payload })
      expect([response.statusCode, response.json().ids.length]).toEqual([200, count])
    }
  })
})
