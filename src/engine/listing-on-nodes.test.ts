import { expect, onTestFinished, test, vi } from 'vitest'
import { aProjectName, aVersionName } from '../shared/testing/ids.ts'
import { plain } from '../shared/texts/message.ts'
import { NodeError } from './nodes/node-client.ts'
import { anEgg } from './testing/archives.ts'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

const SHOP = aProjectName('shop')
const V1 = aVersionName('1')
const TRACEBACK = "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named 'x'\n"

async function openService() {
  const service = await openEngineWithFakeNode()
  onTestFinished(() => service.remove())
  const { client, clock, engine, node } = service
  const wedge = (message: string) => {
    node.addVersion = async () => {
      const details = { delivered: 'no', nodeMessage: `RunnerError: ${message}`, refusal: 'import_failed' } as const
      throw new NodeError('refused', plain('the node refused it'), details)
    }
  }
  return {
    ...service,
    wedge,
    async addNode() {
      await client.nodes.add({ url: 'http://127.0.0.1:9/', name: 'eu-1', slots: 2 })
      await clock.advanceBy(2_000)
    },
    addVersion: async (content: string) =>
      engine.scrapyd.addVersion(SHOP, V1, await anEgg([{ name: 'content.txt', content }])),
    versions: async () => (await client.projects.list()).projects.flatMap(({ versions }) => versions)
  }
}

test('a node lists the spiders of an upload at once', async () => {
  const service = await openService()
  await service.addNode()
  expect(await service.addVersion('1')).toMatchObject({ spiders: 1 })
  expect(await service.engine.scrapyd.listSpiders(SHOP, null)).toEqual(['prices'])
  expect([...service.node.eggs]).toEqual(['shop@1'])
})

test('if no node can list them, an error says so, the version is kept, and the next node lists them', async () => {
  const service = await openService()
  await expect(service.addVersion('1')).rejects.toMatchObject({ code: 'SPIDERS_UNKNOWN' })
  await expect(service.engine.scrapyd.listSpiders(SHOP, null)).rejects.toMatchObject({
    code: 'SPIDERS_UNKNOWN',
    message: expect.stringContaining('no node responds')
  })
  await service.addNode()
  expect(await service.engine.scrapyd.listSpiders(SHOP, null)).toEqual(['prices'])
  expect(await service.addVersion('1')).toMatchObject({ spiders: 1 })
})

test('a listing of an egg that was replaced meanwhile is discarded, and the new egg is listed', async () => {
  const service = await openService()
  await service.addNode()
  const late = Promise.withResolvers<string[]>()
  service.node.listSpiders = () => late.promise
  const first = expect(service.addVersion('1')).rejects.toMatchObject({ code: 'SPIDERS_UNKNOWN' })
  await service.until(async () => (await service.versions())[0]?.deployments[0]?.state === 'present')
  await service.clock.advanceBy(60_000)
  await first
  const [{ sha256 } = { sha256: null }] = await service.versions()
  const second = service.addVersion('2')
  await vi.waitFor(async () => expect((await service.versions())[0]?.sha256).not.toBe(sha256), { timeout: 10_000 })
  service.node.listSpiders = async () => ['new', 'prices']
  late.resolve(['old'])
  expect(await second).toMatchObject({ spiders: 2 })
  expect(await service.engine.scrapyd.listSpiders(SHOP, null)).toEqual(['new', 'prices'])
})

test('an egg that no node can import is refused at deploy with its traceback, and is not kept', async () => {
  const service = await openService()
  await service.addNode()
  service.wedge(TRACEBACK)
  await expect(service.addVersion('1')).rejects.toMatchObject({
    code: 'EGG_IMPORT_FAILED',
    message: expect.stringContaining('cannot be imported on eu-1'),
    data: { stderr: TRACEBACK.trim() }
  })
  expect(await service.versions()).toEqual([])
})

test('the version that such an egg would have replaced stays unchanged', async () => {
  const service = await openService()
  await service.addNode()
  await service.addVersion('1')
  const [before] = await service.versions()
  service.wedge(TRACEBACK)
  await expect(service.addVersion('2')).rejects.toMatchObject({ code: 'EGG_IMPORT_FAILED' })
  const [after] = await service.versions()
  // The node refused the new egg and may have lost the previous one.
  expect(after).toEqual({ ...before, deployments: [] })
})
