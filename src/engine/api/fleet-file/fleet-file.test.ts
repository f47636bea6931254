import { expect, test } from 'vitest'
import type { LimitRule } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { FleetFiles } from './fleet-file.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const YAML = `version: 1
limits: [{ project: p, max: 1 }]
chains: [{ name: then, project: p, spider: s, on: succeeded, run: { project: p, spiders: [t] } }]
webhooks: [{ name: w, url: 'https://ops.example/', events: [job.ended] }]`

const clock = createFakeClock()

function openFiles(failure: { next: Error | null }) {
  const [limits, chains, webhooks]: [LimitRule[], object[], object[]] = [[], [], []]
  const none = async () => []
  const parts = {
    store: {
      listNodes: none,
      listProjectSettings: async () => new Map(),
      listSchedules: none,
      listChains: async () => chains.map((settings, index) => ({ id: `c${index}`, settings }))
    },
    hasLocalNode: false,
    discovery: { list: () => [] },
    deployed: { names: () => ['p'], allSpidersOf: () => ['t'] },
    queue: { limits: () => limits, setLimits: async (rules: LimitRule[]) => void limits.splice(0, 9, ...rules) },
    chains: {
      create: async (settings: object) => {
        if (failure.next !== null) throw failure.next
        chains.push(settings)
      }
    },
    webhooks: {
      list: async () => webhooks,
      check: () => {},
      create: async (settings: object) => void webhooks.push({ id: 'w', ...settings })
    },
    alerts: { rules: () => [], channelNames: async () => new Map() },
    retention: { policy: () => ({ revision: 0 }) },
    random: { hex: () => 'a1' },
    clock
  }
  return new FleetFiles(parts as unknown as ConstructorParameters<typeof FleetFiles>[0])
}

test.each([
  [new ScrapdeckError('BAD_INPUT', 'The disk is full'), 'BAD_INPUT', 'The disk is full.'],
  [new TypeError('x is undefined'), 'INTERNAL', 'This failed; see the log.']
])(
  'an error that no check can foresee says which changes were made, and the file can be applied again: %o',
  async (error, code, words) => {
    const failure: { next: Error | null } = { next: error }
    const files = openFiles(failure)
    await expect(files.apply(YAML, false)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(
        `chain then: ${words} 1 of 3 changes were made before this one (add limits limit 1 for project p); the others were not`
      ),
      data: { done: [{ noun: 'limits', act: 'add' }] }
    })
    failure.next = null
    expect((await files.apply(YAML, false)).map(({ noun }) => noun)).toEqual(['chain', 'webhook'])
    expect(await files.apply(YAML, false)).toEqual([])
  }
)

test('a spider that no local version has is reported, but is not an error', async () => {
  const files = openFiles({ next: null })
  const [, chain] = await files.plan(YAML.replace('spiders: [t]', 'spiders: [t, odd]'), false)
  expect(chain?.notes).toEqual(['no version of p here has a spider odd'])
})

test('a file designed to be slow is read in a thread with a time limit, and only a few files may wait', async () => {
  const files = openFiles({ next: null })
  const hurting = '['.repeat(2_000_000)
  const results = Array.from({ length: 7 }, () => files.plan(hurting, false).catch((error: ScrapdeckError) => error))
  const refused = await Promise.race(results)
  expect(refused).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  await clock.advanceBy(30_000)
  expect(await results[0]).toMatchObject({
    code: 'FLEET_FILE_INVALID',
    message: expect.stringContaining('longer than')
  })
  for (const result of results.slice(1, 6)) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    await clock.advanceBy(30_000)
    expect(await result).toMatchObject({ code: 'FLEET_FILE_INVALID' })
  }
})

test.skipIf(isCore)('a large file is read in a thread, with the same result', async () => {
  const files = openFiles({ next: null })
  const large = `${YAML}\n${'# a long explanation\n'.repeat(1_000)}`
  expect(await files.plan(large, false)).toEqual(await files.plan(YAML, false))
  await expect(files.plan(`${large}nodez: []`, false)).rejects.toThrow('line 1: the file has no field "nodez"')
})
