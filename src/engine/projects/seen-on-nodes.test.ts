import { expect, test } from 'vitest'
import { aNodeId, aProjectName, branded } from '../../shared/testing/ids.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { Catalog } from './catalog.ts'
import { SeenOnNodes } from './seen-on-nodes.ts'

test('of a node that lists versions without end, the newest are taken in, and none is taken for gone', async () => {
  const catalog = new Catalog()
  const forgotten: string[] = []
  const seenOnNodes = new SeenOnNodes({
    store: {
      async changeVersions(changes) {
        for (const change of changes) if (change.kind === 'delete') forgotten.push(change.version)
      }
    },
    catalog,
    exclusively: (change) => change(),
    hasNode: () => true,
    clock: createFakeClock()
  })
  const look = (versions: string[], askedAtMs: number) =>
    seenOnNodes.recordSeen({
      nodeId: aNodeId('n1'),
      project: aProjectName('shop'),
      versions: branded(versions),
      spiders: null,
      askedAtMs
    })
  const versions = Array.from({ length: 10_002 }, (_, index) => `v${index}`)
  await look(['v0', 'v1'], 1)
  await look(versions, Number.MAX_SAFE_INTEGER)
  expect(catalog.all()).toHaveLength(10_002)
  await look([...versions, 'w'], Number.MAX_SAFE_INTEGER)
  await look(['x', ...versions], Number.MAX_SAFE_INTEGER)
  expect(catalog.all().map(({ version }) => version)).not.toContain('x')
  expect(forgotten).toEqual(['w'])
})
