import { expect, it, onTestFinished } from 'vitest'
import { anEgg } from '../../src/engine/testing/archives.ts'
import { until } from '../../src/engine/testing/until.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type ScrapydVersion, scrapydProblem, startScrapyd } from '../support/scrapyd-fleet.ts'
import { startService } from '../support/service.ts'

/** One version before 1.5, whose errors have no prefix, and a current one. */
const VERSIONS: ScrapydVersion[] = ['1.3.0', '1.6.0']

it.each(VERSIONS.filter((version) => scrapydProblem(version) === null))(
  'a service without local slots has a Scrapyd %s list the spiders of an upload, or say why it cannot',
  async (version) => {
    const scrapyd = await startScrapyd({ version })
    onTestFinished(() => scrapyd.stop())
    const service = await startService({ localSlots: 0 })
    onTestFinished(() => service.stop())
    await service.client.nodes.add({ url: scrapyd.url, name: 'eu-1' })
    const health = async () => (await service.client.nodes.list()).nodes[0]?.health
    await until('the node responds', health, (word) => word === 'up')
    const upload = (name: string, bytes: Uint8Array) =>
      service.client.projects.upload({ file: new File([new Uint8Array(bytes)], 'p.egg'), project: name, version: '1' })
    expect(await upload('demo', await buildDemoEgg())).toMatchObject({ spiders: expect.arrayContaining(['quotes']) })
    const broken = await anEgg([
      { name: 'shop/__init__.py', content: '' },
      { name: 'shop/spiders.py', content: 'import a_module_that_is_nowhere\n' }
    ])
    await expect(upload('shop', broken)).rejects.toMatchObject({
      code: 'EGG_IMPORT_FAILED',
      message: expect.stringMatching(/on eu-1[^]*No module named 'a_module_that_is_nowhere'/)
    })
    const { projects } = await service.client.projects.list()
    expect(projects.map(({ name }) => name)).toEqual(['demo'])
  }
)
