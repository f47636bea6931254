import { implement } from '@orpc/server'
import { type Chain, contract, RunTemplate } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aChainId, aProjectName } from '../../shared/testing/ids.ts'
import type { FakeWorld } from './fake-world.ts'

export function createFakeChains({ firstRun, emit, nextNumber }: FakeWorld) {
  const os = implement(contract)
  const chains = new Map((firstRun ? [] : fakeChains(Date.now())).map((chain) => [chain.id, chain]))
  const chainOf = (id: string): Chain => {
    const chain = chains.get(aChainId(id))
    if (chain === undefined) throw new ScrapdeckError('CHAIN_NOT_FOUND', `There is no chain ${id}.`)
    return chain
  }
  const save = (chain: Chain) => {
    chains.set(chain.id, chain)
    emit({ kind: 'chains' })
    return { chain }
  }
  return {
    list: os.chains.list.handler(() => ({ chains: [...chains.values()] })),
    create: os.chains.create.handler(({ input }) =>
      save({ ...input, id: aChainId(idOf(nextNumber())), firedCount: 0, lastFiredAtMs: null, problem: null })
    ),
    update: os.chains.update.handler(({ input }) => save({ ...chainOf(input.id), ...input })),
    remove: os.chains.remove.handler(({ input }) => {
      const removed = chains.delete(input.id)
      emit({ kind: 'chains' })
      return { removed }
    })
  }
}

const idOf = (number: number) => `c4a1${number.toString(16)}`.padEnd(32, '0')

function fakeChains(nowMs: number): Chain[] {
  const chain = (number: number, over: Pick<Chain, 'name' | 'project' | 'spider' | 'on'>, run: object): Chain => ({
    id: aChainId(idOf(number)),
    enabled: true,
    firedCount: 120 - number * 13,
    lastFiredAtMs: nowMs - number * 5_400_000,
    problem: null,
    ...over,
    run: RunTemplate.parse(run)
  })
  return [
    chain(
      1,
      { name: 'details after the list', project: aProjectName('prices'), spider: 'amazon_de', on: 'succeeded' },
      {
        project: 'prices',
        spiders: ['otto', 'zalando'],
        args: { expect: '{stats.item_scraped_count}', day: '{nominal:yyyy-MM-dd}' }
      }
    ),
    chain(
      2,
      { name: 'tell the stock', project: aProjectName('prices'), spider: 'otto', on: 'succeeded' },
      { project: 'jobs', spiders: ['indeed'] }
    ),
    chain(
      3,
      { name: 'again by the slow way', project: aProjectName('prices'), spider: 'zalando', on: 'failed' },
      { project: 'prices', spiders: ['bol_nl'], settings: { DOWNLOAD_DELAY: '2' } }
    ),
    chain(
      4,
      { name: 'sweep after any news', project: aProjectName('news'), spider: '*', on: 'ended' },
      { project: 'maps', spiders: ['transit'] }
    ),
    {
      ...chain(
        5,
        { name: 'weekly map', project: aProjectName('maps'), spider: 'osm_poi', on: 'succeeded' },
        { project: 'maps', spiders: ['transit'] }
      ),
      enabled: false,
      firedCount: 0,
      lastFiredAtMs: null
    }
  ]
}
