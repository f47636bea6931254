import { implement } from '@orpc/server'
import { type Change, contract, type SourceState } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aNodeId, aSourceId } from '../../shared/testing/ids.ts'

/** Node sources in memory. Refreshing one finds the same nodes again. */
export function createFakeDiscovery(sources: Map<string, SourceState>, emit: (...changes: Change[]) => void) {
  const os = implement(contract)
  const sourceOf = (id: string): SourceState => {
    const source = sources.get(id)
    if (source === undefined)
      throw new ScrapdeckError('NOT_FOUND', `There is no source ${id}. It may have been removed.`)
    return source
  }
  const save = (source: SourceState): SourceState => {
    sources.set(source.id, source)
    emit({ kind: 'discovery' })
    return source
  }
  return {
    list: os.discovery.list.handler(() => ({ sources: [...sources.values()] })),
    put: os.discovery.put.handler(({ input: { password, ...settings } }) => {
      const before = sources.get(settings.id)
      return save({
        ...settings,
        hasPassword: password === undefined ? (before?.hasPassword ?? false) : password !== null,
        isFromConfiguration: false,
        refreshedAtMs: Date.now(),
        problem: null,
        found: before?.found ?? 0,
        vanished: before?.vanished ?? 0,
        vanishedNodes: before?.vanishedNodes ?? []
      })
    }),
    remove: os.discovery.remove.handler(({ input }) => {
      sources.delete(sourceOf(input.id).id)
      emit({ kind: 'discovery' })
      return { removed: input.id }
    }),
    refresh: os.discovery.refresh.handler(({ input }) => save({ ...sourceOf(input.id), refreshedAtMs: Date.now() }))
  }
}

export function fakeSources(nowMs: number): SourceState[] {
  const common = { refreshSeconds: 30, node: {}, username: null, hasPassword: false, isFromConfiguration: false }
  return [
    {
      ...common,
      id: aSourceId('kubernetes'),
      source: { kind: 'dns', hostname: 'scrapyd.crawl.svc', record: 'A', scheme: 'http', port: 6800, basePath: '/' },
      refreshedAtMs: nowMs - 9_000,
      problem: null,
      found: 4,
      vanished: 1,
      vanishedNodes: [{ nodeId: aNodeId('us-2'), sinceMs: nowMs - 3_600_000, isCordonedForIt: true }]
    },
    {
      ...common,
      id: aSourceId('inventory'),
      source: { kind: 'file', path: '/etc/scrapdeck/nodes.txt' },
      refreshedAtMs: nowMs - 14_000,
      problem:
        'Line 7 of /etc/scrapdeck/nodes.txt is not an address: “htp://lab-c”. Correct the line; the others are used.',
      found: 3,
      vanished: 0,
      vanishedNodes: []
    }
  ]
}
