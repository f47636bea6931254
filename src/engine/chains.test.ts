import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ChainSettings, RunTemplate, SECRET_MASK } from '../shared/contract/index.ts'
import { aProjectName } from '../shared/testing/ids.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

let engine: EngineWithFakeNode

beforeEach(async () => {
  engine = await openEngineWithFakeNode()
  await engine.prepare()
})
afterEach(() => engine.remove())

function aChain(run: object, over: Partial<ChainSettings> = {}): ChainSettings {
  const template = RunTemplate.parse({ project: 'shop', spiders: ['prices'], ...run })
  return {
    name: 'again',
    enabled: true,
    project: aProjectName('shop'),
    spider: 'prices',
    on: 'succeeded',
    run: template,
    ...over
  }
}

async function runAndEnd(): Promise<string> {
  const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const id = jobs[0]!.id
  await engine.until(async () => engine.node.running.some(({ jobid }) => jobid === id))
  engine.node.end(id)
  return id
}

const chained = async () => (await engine.client.jobs.list({})).jobs.filter(({ source }) => source === 'chain')

describe('chains in an engine', () => {
  test('run B after A with arguments from A, keep secrets, and report what they did', async () => {
    const args = {
      after: '{job}',
      items: '{stats.item_scraped_count}',
      how: '{outcome}',
      missing: '{stats.other}',
      key: 's3cret'
    }
    const settings = aChain({ args, secretNames: ['key'] })
    const { chain } = await engine.client.chains.create(settings)
    expect(chain).toMatchObject({ firedCount: 0, problem: null, run: { args: { key: SECRET_MASK } } })
    const id = await runAndEnd()
    await engine.until(async () => (await chained()).length === 1)
    expect((await chained())[0]).toMatchObject({
      spider: 'prices',
      args: { after: id, items: '3', how: 'succeeded', missing: '', key: SECRET_MASK }
    })
    await engine.until(async () => engine.node.running.length === 1)
    expect(engine.node.running[0]?.args).toMatchObject({ key: 's3cret' })
    // The chain must ignore the end of its own job, or it would never stop.
    engine.node.endAll()
    await engine.until(async () => (await chained())[0]?.state === 'ended')
    await engine.clock.advanceBy(5_000)
    expect(await chained()).toHaveLength(1)
    expect((await engine.client.chains.list()).chains).toMatchObject([{ firedCount: 1 }])
    expect(readFileSync(join(engine.directory, 'scrapdeck.sqlite')).includes('s3cret')).toBe(false)
  })

  test('react later to an end that the chain could not handle at first', async () => {
    await engine.client.chains.create(aChain({ spiders: ['gone'] }))
    await runAndEnd()
    await engine.until(async () => (await engine.client.chains.list()).chains[0]!.problem !== null)
    const [chain] = (await engine.client.chains.list()).chains
    expect(chain).toMatchObject({ firedCount: 0, problem: expect.stringContaining('gone') })
    const problems = async () => (await engine.client.system.status()).problems.map(({ title }) => title)
    await engine.until(async () => (await problems()).includes('The chain again could not create a job'))
    const { id, firedCount: _, lastFiredAtMs: __, problem: ___, ...settings } = chain!
    await engine.client.chains.update({ ...settings, id, run: { ...settings.run, spiders: ['prices'] } })
    await runAndEnd()
    await engine.until(async () => (await chained()).length === 1)
    await engine.until(async () => (await problems()).length === 0)
    await engine.restart()
    await engine.clock.advanceBy(1_000)
    expect(await chained()).toHaveLength(1)
    expect(await engine.client.chains.list()).toMatchObject({ chains: [{ firedCount: 1, problem: null }] })
  })

  test('commands about chains are fully validated', async () => {
    const { client } = engine
    const nowhere = 'f'.repeat(32)
    const code = { code: 'BAD_INPUT' }
    await expect(client.chains.create(aChain({ args: { x: '{stat.item}' } }))).rejects.toMatchObject(code)
    await expect(client.chains.create(aChain({ secretNames: ['x'] }))).rejects.toMatchObject(code)
    await expect(client.chains.create(aChain({ argSets: [{ _job: '1' }] }))).rejects.toMatchObject({
      code: 'ARGUMENT_RESERVED'
    })
    await expect(client.chains.create(aChain({ nodeId: 'n-000000000000' }))).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND'
    })
    await expect(client.chains.update({ ...aChain({}), id: nowhere })).rejects.toMatchObject({
      code: 'CHAIN_NOT_FOUND'
    })
    expect(await client.chains.remove({ id: nowhere })).toEqual({ removed: false })
    expect(await client.chains.list()).toEqual({ chains: [] })
  })
})
