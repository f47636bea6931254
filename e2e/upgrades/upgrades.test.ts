import { readdirSync } from 'node:fs'
import { chmod, cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newestVersion } from '../../src/engine/storage/schema-versions.ts'
import { MIGRATIONS } from '../../src/engine/storage/sqlite/migrate.ts'
import { createEngine } from '../../src/engine/index.ts'
import { createFakeClock, type FakeClock } from '../../src/engine/testing/fake-clock.ts'
import { FakeNode } from '../../src/engine/testing/fake-node.ts'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import { type Everything, readEverything } from './read-everything.ts'

const FIXTURES = join(import.meta.dirname, 'data-directories')
const RESOURCES = join(import.meta.dirname, '..', '..', 'resources')

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
let clock: FakeClock
let expected: Everything & { nowMs: number }

it('the newest data format has a directory here, which later versions upgrade', () => {
  const newest = Math.max(...readdirSync(FIXTURES).map((name) => Number.parseInt(name, 10)))
  expect(newest).toBe(newestVersion(MIGRATIONS))
})

describe.each(readdirSync(FIXTURES))('the data directory %s', (name) => {
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await cp(join(FIXTURES, name, 'data'), directory.path, { recursive: true })
    // Git does not store the file's mode, and the engine refuses a key that others can read.
    await chmod(join(directory.path, 'secret.key'), 0o600)
    expected = JSON.parse(await readFile(join(FIXTURES, name, 'expected.json'), 'utf8'))
    clock = createFakeClock(expected.nowMs)
  })
  afterEach(() => directory.remove())

  it('is upgraded without loss: every row, blob and secret reads as before', async () => {
    const { nowMs: _, ...before } = expected
    const now = await readEverything(directory.path, clock)
    for (const noun of Object.keys(before) as (keyof Everything)[]) {
      // A newer format can add fields.
      expect(now[noun], noun).toMatchObject(before[noun] as object)
      if (Array.isArray(before[noun])) expect((now[noun] as unknown[]).length, noun).toBe(before[noun].length)
    }
    expect(await readEverything(directory.path, clock)).toEqual(now)
  })

  it('works with the engine: nodes, settings, backfills and sources are unchanged, and logs can be read', async () => {
    const passwords: (string | null)[] = []
    const engine = await createEngine({
      dataDirectory: directory.path,
      host: 'service',
      resourcesDirectory: RESOURCES,
      scrapdeckVersion: 'test',
      seams: {
        clock,
        localNode: null,
        createNodeClient: (_node, password) => {
          passwords.push(password)
          return Object.assign(new FakeNode(clock, { slots: 1 }), { isDown: true })
        },
        post: async () => ({ kind: 'failed', problem: 'nobody answers' })
      }
    })
    try {
      const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
      const ids = (those: { id: string }[]) => those.map(({ id }) => id).sort()
      expect(ids((await client.nodes.list()).nodes)).toEqual(ids(expected.nodes))
      expect(passwords.toSorted()).toEqual(['of the source', 'of the source', 'open sesame'])
      expect((await client.queue.limits()).limits).toMatchObject(expected.limits)
      const { sources } = await client.discovery.list()
      expect(sources.map(({ vanishedNodes: _, ...source }) => source)).toMatchObject(
        expected.sources.map(({ settings }) => settings)
      )
      expect(sources.flatMap(({ vanishedNodes }) => vanishedNodes.map(({ nodeId }) => nodeId))).toEqual(
        Object.keys(expected.vanishedNodes)
      )
      for (const { scheduleId, ...backfill } of expected.backfills) {
        const { id, state, total } = backfill
        expect((await client.schedules.get({ id: scheduleId })).backfill).toMatchObject({ id, state, total })
      }
      expect(ids((await client.chains.list()).chains)).toEqual(ids(expected.chains))
      const webhooks = expected.webhooks.filter(({ kind }) => kind === 'webhook')
      expect(ids((await client.webhooks.list()).webhooks)).toEqual(ids(webhooks))
      for (const { job, logs } of expected.jobs) {
        expect((await client.jobs.get({ id: job.id })).job.args).toEqual(
          Object.fromEntries(
            Object.entries(job.args).map(([key, value]) => [key, job.secretNames.includes(key) ? '••••••' : value])
          )
        )
        if (!logs.some((log) => log !== null)) continue
        expect((await client.logs.read({ jobId: job.id, offset: 0 })).text).toMatch(/Spider|line 0 of a long log/)
      }
    } finally {
      await engine.stop()
    }
  })
})
