import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Chain, RunTemplate } from '../../../../shared/contract/index.ts'
import { aChainId, aProjectName } from '../../../../shared/testing/ids.ts'
import { CHAIN_HEIGHT, layOutChains, SPIDER_HEIGHT, SPIDER_WIDTH } from './chain-graph.ts'

let number = 1
function aChain(from: string, to: string[], over: Partial<Chain> = {}): Chain {
  const [project, spider] = from.split('/') as [string, string]
  return {
    id: aChainId(String(number++).padStart(32, '0')),
    name: from,
    enabled: true,
    project: aProjectName(project),
    spider,
    on: 'succeeded',
    run: RunTemplate.parse({ project: to[0]?.split('/')[0], spiders: to.map((each) => each.split('/')[1]) }),
    firedCount: 0,
    lastFiredAtMs: null,
    problem: null,
    ...over
  }
}
const at = (graph: ReturnType<typeof layOutChains>, key: string) => {
  const found = graph.spiders.find((spider) => spider.key === key)
  return found ?? expect.fail(`${key} is not in the graph`)
}

it('a job that runs later is placed further to the right', () => {
  const graph = layOutChains([aChain('p/a', ['p/b']), aChain('p/b', ['p/c']), aChain('p/a', ['p/c'])])
  expect(at(graph, 'p/a').x).toBeLessThan(at(graph, 'p/b').x)
  expect(at(graph, 'p/b').x).toBeLessThan(at(graph, 'p/c').x)
  expect(graph.circles).toEqual([])
})

it('a pattern is connected to the spiders that it matches', () => {
  const graph = layOutChains([aChain('p/a', ['news/reuters']), aChain('news/*', ['maps/osm'])])
  expect(graph.matches).toEqual([{ from: 'news/reuters', to: 'news/*' }])
  expect(at(graph, 'news/reuters').x).toBeLessThan(at(graph, 'news/*').x)
})

it('a circle is found, through patterns too, and only among enabled chains', () => {
  const circle = [aChain('p/a', ['p/b']), aChain('p/b', ['p/a'])]
  expect(layOutChains(circle).circles.map((each) => [...each].sort())).toEqual([['p/a', 'p/b']])
  expect(layOutChains([aChain('p/*', ['p/b'])]).circles).toEqual([['p/b']])
  expect(layOutChains([circle[0]!, { ...circle[1]!, enabled: false }]).circles).toEqual([])
})

it('nothing overlaps, however jobs are chained', () => {
  const name = fc.constantFrom('p/a', 'p/b', 'p/c', 'p/d', 'p/e', 'p/f', 'p/*')
  const target = fc.uniqueArray(fc.constantFrom('p/a', 'p/b', 'p/c', 'p/d', 'p/e', 'p/f'), {
    minLength: 1,
    maxLength: 3
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, target), { maxLength: 14 }), (chains) => {
      const graph = layOutChains(chains.map(([from, to]) => aChain(from, to)))
      const boxes = [
        ...graph.spiders.map(({ x, y }) => ({ x, y, height: SPIDER_HEIGHT })),
        ...graph.chains.map(({ x, y }) => ({ x, y, height: CHAIN_HEIGHT }))
      ]
      for (const [index, box] of boxes.entries()) {
        expect(box.y).toBeGreaterThanOrEqual(0)
        expect(box.y + box.height).toBeLessThanOrEqual(graph.height)
        for (const other of boxes.slice(index + 1))
          if (box.x === other.x) expect(Math.abs(box.y - other.y)).toBeGreaterThan(CHAIN_HEIGHT)
      }
      for (const { x } of graph.spiders) expect(x + SPIDER_WIDTH).toBeLessThanOrEqual(graph.width)
    }),
    { numRuns: 80 }
  )
})
