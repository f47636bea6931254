import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterEach, expect, test, vi } from 'vitest'
import { buildDemoEgg } from '../../e2e/support/demo-egg.ts'
import { type Scrapyd, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import { createEngine, type Engine } from './index.ts'
import { OWNER } from './access/principal.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from './testing/temporary-directory.ts'

const WAIT = { timeout: 60_000, interval: 100 }

let directory: TemporaryDirectory
let engine: Engine
let scrapyd: Scrapyd

afterEach(async () => {
  await engine.stop()
  await scrapyd.stop()
  await directory.remove()
})

test('a node that is reinstalled behind the same address gets its eggs again: before a job, or at once', async () => {
  directory = await makeTemporaryDirectory()
  scrapyd = await startScrapyd()
  engine = await createEngine({
    dataDirectory: join(directory.path, 'data'),
    host: 'service',
    resourcesDirectory: resolve(import.meta.dirname, '../../resources'),
    scrapdeckVersion: '0.0.0',
    localSlots: 0
  })
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  const node = await client.nodes.add({ url: scrapyd.url })
  const file = new File([new Uint8Array(await buildDemoEgg())], 'demo.egg')
  const { sha256 } = await client.projects.upload({ file, project: 'demo', version: '1.0' })

  const place = async () => {
    const { versions } = await client.projects.get({ project: 'demo' })
    return versions[0]!.deployments.map((one) => [one.nodeId, one.state, one.sha256])
  }
  const versionsThere = async () => {
    const answer = await fetch(new URL('listversions.json?project=demo', scrapyd.url))
    return ((await answer.json()) as { versions: string[] }).versions
  }
  const installAnew = async () => {
    await scrapyd.kill({ withSpiders: true })
    await vi.waitFor(async () => expect((await client.nodes.get({ id: node.id })).health).toBe('down'), WAIT)
    await rm(join(scrapyd.directory, 'eggs'), { recursive: true, force: true })
    await scrapyd.restart()
    expect(await versionsThere()).toEqual([])
  }
  const runOnce = async () => {
    const { jobs } = await client.jobs.run({
      project: 'demo',
      spiders: ['quotes'],
      args: { pages: '1', delay: '0' }
    })
    await vi.waitFor(async () => {
      expect((await client.jobs.get({ id: jobs[0]!.id })).job).toMatchObject({ outcome: 'succeeded', version: null })
    }, WAIT)
    expect((await client.jobs.get({ id: jobs[0]!.id })).attempts.at(-1)).toMatchObject({ version: '1.0' })
  }

  await runOnce()
  expect(await place()).toEqual([[node.id, 'present', sha256]])
  await installAnew()
  await vi.waitFor(async () => expect(await place()).toEqual([[node.id, 'missing', sha256]]), WAIT)
  await runOnce()
  expect(await place()).toEqual([[node.id, 'present', sha256]])

  const { settings } = await client.projects.get({ project: 'demo' })
  await client.projects.configure({ project: 'demo', settings: { ...settings, distribution: 'at_once' } })
  await installAnew()
  await vi.waitFor(async () => expect(await versionsThere()).toEqual(['1_0']), WAIT)
  await vi.waitFor(async () => expect(await place()).toEqual([[node.id, 'present', sha256]]), WAIT)
}, 240_000)
