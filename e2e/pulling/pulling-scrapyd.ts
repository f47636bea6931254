import { delimiter, resolve } from 'node:path'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'
import type { NodeId } from '../../src/shared/contract/index.ts'
import { PULLING_COMPONENTS } from '../../src/shared/pulling-setup.ts'
import { type Scrapyd, type ScrapydVersion, startScrapyd } from '../support/scrapyd-fleet.ts'
import type { Service } from '../support/service.ts'

export const PACKAGE_DIRECTORY = resolve(import.meta.dirname, '../../resources/python/node')

export interface PullingScrapydOptions {
  version?: ScrapydVersion
  /** The URL at which the Scrapyd reaches the service. Default: the service's own address. */
  url?: string
  maxProc?: number
  name?: string
  configuration?: Record<string, string | number>
  environment?: Record<string, string>
  pythonPath?: string
}

/** Adds a node and starts a stock Scrapyd with the package that pulls for it. */
export async function startPullingScrapyd(
  service: Service,
  options: PullingScrapydOptions = {}
): Promise<{ scrapyd: Scrapyd; nodeId: NodeId; token: string }> {
  const { version = '1.6.0', url = service.address, maxProc = 2, configuration, environment } = options
  const { node, token } = await service.client.nodes.addPulling({ name: options.name ?? `pulls-${version}` })
  const installed = readTestEnvironment().scrapyd[version]?.pythonPath
  const scrapyd = await startScrapyd({
    version,
    maxProc,
    forks: 'nothing',
    configuration: { ...PULLING_COMPONENTS, ...configuration },
    environment: {
      PYTHONPATH: [PACKAGE_DIRECTORY, options.pythonPath, installed].filter(Boolean).join(delimiter),
      SCRAPDECK_URL: url,
      SCRAPDECK_NODE_TOKEN: token,
      NO_PROXY: '127.0.0.1',
      ...environment
    }
  })
  await untilUp(service, node.id)
  return { scrapyd, nodeId: node.id, token }
}

export const untilUp = (service: Service, id: NodeId): Promise<unknown> =>
  until(
    'the node pulls',
    async () => (await service.client.nodes.get({ id })).health,
    (health) => health === 'up',
    20_000
  )
