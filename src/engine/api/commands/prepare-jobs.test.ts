import { describe, expect, it } from 'vitest'
import {
  DEFAULT_PROJECT_SETTINGS,
  NO_DEFAULTS,
  type ProjectSettings,
  type RunItem
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aJobId, aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { aVersion } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { dedupeKeyOf } from '../../storage/dedupe-key.ts'
import { prepareJobs } from './prepare-jobs.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const clock = createFakeClock()
const NOW_MS = clock.nowMs()
const RETRY = { attempts: 3, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3_600, on: ['failed' as const] }

function createParts(settings: Partial<ProjectSettings> = {}) {
  const asked: string[] = []
  return {
    asked,
    fleet: { get: (id: string) => (id === 'n-1' ? ({} as FleetNode) : undefined) },
    projects: {
      catalog: {
        resolve(project: string, version: string | null, spider: string) {
          asked.push(`resolve ${project} ${version} ${spider}`)
          if (spider === 'missing') throw new ScrapdeckError('SPIDER_NOT_FOUND', 'There is no spider "missing".')
          return aVersion({ project })
        }
      },
      settingsOf: () => ({ ...DEFAULT_PROJECT_SETTINGS, ...settings })
    },
    secretBox: {
      async seal(text: string) {
        asked.push(`seal ${text}`)
        return asSealedText(`sealed:${text}`)
      },
      open: async (sealed: string) => sealed.replace('sealed:', '')
    },
    clock,
    newJobId: createJobIds(clock, createSeededRandom(1))
  }
}

const item = (over: Partial<RunItem> = {}): RunItem => ({ project: aProjectName('shop'), spider: 'prices', ...over })
const prepare = (items: RunItem[], parts = createParts()) => prepareJobs(items, { source: 'api' }, parts)

describe('requested jobs', () => {
  it('are refused with a hint if a default names a removed node, unless they name a node themselves', async () => {
    const parts = createParts({ defaults: { ...NO_DEFAULTS, nodeId: aNodeId('gone') } })
    await expect(prepare([item()], parts)).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
      message: 'The defaults of shop name the node gone, which was removed. Change the defaults, or name another node'
    })
    expect((await prepare([item({ nodeId: aNodeId('n-1') })], parts))[0]!.placement.nodeId).toBe('n-1')
    expect((await prepare([item({ nodeId: null })], parts))[0]!.placement.nodeId).toBe(null)
  })

  it('are refused if no node of any kind could start them', async () => {
    const refusal = (words: RegExp) => ({ code: 'BAD_INPUT', message: expect.stringMatching(words) })
    await expect(prepare([item({ spider: 'a/b' })])).rejects.toMatchObject(
      refusal(/The spider "a\/b" contains a slash/)
    )
    const env = { TOKEN: 'x'.repeat(200_000) }
    await expect(prepare([item({ env })])).rejects.toMatchObject(refusal(/"TOKEN" is too large/))
  })

  it('look up or encrypt values that many of them share only once', async () => {
    const parts = createParts()
    const secret = { args: { token: 'tulip' }, secretNames: ['token', 'token'] }
    const items = Array.from({ length: 100 }, (_one, index) =>
      item({ spider: index % 2 ? 'prices' : 'stock', ...secret })
    )
    const jobs = await prepare(items, parts)
    expect(parts.asked).toEqual(['resolve shop null stock', 'resolve shop null prices', 'seal tulip'])
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(100)
    expect(jobs[7]).toMatchObject({ spider: 'prices', args: { token: 'sealed:tulip' }, secretNames: ['token'] })
  })

  it('have a limit for all arguments together, which a thousand jobs with equal arguments reach', async () => {
    const args = { text: 'x'.repeat(100_000) }
    const items = (count: number) => Array.from({ length: count }, () => item({ args }))
    const parts = createParts()
    await expect(prepare(items(1_000), parts)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    expect(parts.asked).toEqual([])
    expect(await prepare(items(100))).toHaveLength(100)
  })

  it('record only their own omitted defaults, once, with the same limit for all', async () => {
    const ofStock = { ...NO_DEFAULTS, args: { only: '1' } }
    const names = Array.from({ length: 1_000 }, (_one, index) => `${'x'.repeat(195)}${index}`)
    const ofPrices = { ...NO_DEFAULTS, args: Object.fromEntries(names.map((name) => [name, ''])) }
    const parts = createParts({ spiderDefaults: { stock: ofStock, prices: ofPrices } })
    const spiders = (withoutDefaults: string[]) =>
      ['stock', 'prices', 'other'].map((spider) => item({ spider, withoutDefaults }))
    const recorded = async (withoutDefaults: string[]) =>
      (await prepare(spiders(withoutDefaults), parts)).map(({ entry }) => entry.evidence['withoutDefaults'])
    expect(await recorded([names[0]!, 'only', 'only'])).toEqual([['only'], [names[0]], undefined])
    expect(await recorded(['*', '*', 'only'])).toEqual([['*'], ['*'], ['*']])
    const many = Array.from({ length: 1_000 }, () => item({ withoutDefaults: names }))
    await expect(prepare(many, parts)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
  })

  it('have the retry policy and the overlap rule of their project, unless they bring their own', async () => {
    const parts = createParts({ retry: RETRY, noOverlap: true })
    const own = { ...RETRY, attempts: 9 }
    const jobs = await prepare([item(), item({ retry: null, noOverlap: false }), item({ retry: own })], parts)
    expect(jobs.map(({ retry, noOverlap }) => [retry?.attempts, noOverlap])).toEqual([
      [3, true],
      [undefined, false],
      [9, true]
    ])
  })

  it('keep the requested times, order and placement', async () => {
    const after = [{ jobId: aJobId('a'.repeat(32)), on: 'succeeded' as const }]
    const [job] = await prepare([
      item({
        notBeforeMs: NOW_MS + 1_000,
        expiresAtMs: NOW_MS + 2_000,
        after,
        dedupe: { key: 'nightly', ttlSeconds: 60 },
        nodeId: aNodeId('n-1'),
        tags: ['eu', '!slow', 'eu'],
        priority: 4
      })
    ])
    expect(job).toMatchObject({
      notBeforeMs: NOW_MS + 1_000,
      expiresAtMs: NOW_MS + 2_000,
      after,
      dedupe: { key: dedupeKeyOf(aProjectName('shop'), 'client', 'nightly'), expiresAtMs: NOW_MS + 60_000 },
      placement: { nodeId: 'n-1', tags: ['!slow', 'eu'] },
      priority: 4
    })
  })

  const one = { jobId: aJobId('a'.repeat(32)), on: 'ended' as const }
  it.each([
    ['an expiry in the past', { expiresAtMs: NOW_MS - 1 }, 'BAD_INPUT', /in the past/],
    ['an expiry before the start', { notBeforeMs: NOW_MS + 9, expiresAtMs: NOW_MS + 8 }, 'BAD_INPUT', /earlier start/],
    ['one job to wait for, twice', { after: [one, { ...one, on: 'failed' as const }] }, 'BAD_INPUT', /appears twice/],
    ['a node that is not there', { nodeId: aNodeId('n-9') }, 'NODE_NOT_FOUND', /n-9/],
    ['an argument that Scrapyd takes', { args: { _job: '1' } }, 'ARGUMENT_RESERVED', /"_job"/],
    ['limits nothing can run under', { limits: { openFiles: 3 } }, 'BAD_INPUT', /open files/],
    ['a secret without a value', { secretNames: ['token'] }, 'BAD_INPUT', /"token"/],
    ['a spider that is not there', { spider: 'missing' }, 'SPIDER_NOT_FOUND', /missing/]
  ])('%s is refused, and the error names the affected job of many', async (_case, over, code, message) => {
    await expect(prepare([item(over)])).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    await expect(prepare([item(), item(), item(over)])).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/^Job 3 of 3: .*[^.]\. Nothing was queued$/),
      data: { index: 2 }
    })
  })

  it('accept only names of settings and arguments that are valid and survive transmission', async () => {
    const named = (names: string[]) => Object.fromEntries(names.map((name) => [name, '1']))
    const many = named(Array.from({ length: 1_001 }, (_, index) => `a${index}`))
    await expect(prepare([item({ args: many })])).rejects.toThrow('A job can have up to 1000 arguments, not 1001')
    await expect(prepare([item({ settings: named(['x'.repeat(201)]) })])).rejects.toThrow(
      `The name "${'x'.repeat(60)}…" in the settings is longer than 200 characters`
    )
    for (const values of [{ args: named(['__proto__']) }, { settings: named(['__proto__']) }]) {
      await expect(prepare([item(values)])).rejects.toThrow('The name "__proto__"')
    }
  })
})
