import { aProjectName } from '../../../../shared/testing/ids.ts'
import { afterEach } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { type Script, startScriptedHttpNode } from '../../../testing/scripted-http-node.ts'
import { NodeError } from '../../node-client.ts'
import {
  type ClientLimits,
  createScrapydClient,
  type ScrapydClient,
  type ScrapydClientOptions
} from '../scrapyd-client.ts'

/** Closed after the test, newest first. */
export const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

export const RUN = { project: aProjectName('shop'), spider: 'prices', jobid: 'a1' }

export function connect(options: Partial<ScrapydClientOptions> & { url: string }): ScrapydClient {
  const none = { username: null, password: null, caCertificate: null, name: 'eu-1' }
  const client = createScrapydClient({ ...none, clock: systemClock, logger: silentLogger, ...options })
  closers.push(() => client.close())
  return client
}

export async function scripted(script: Script, limits: Partial<ClientLimits> = {}) {
  const node = await startScriptedHttpNode(script)
  closers.push(node.close)
  return { node, client: connect({ url: node.url, limits }) }
}

export async function failureOf(request: Promise<unknown>): Promise<NodeError> {
  const error = await request.then(
    (value) => new Error(`It did not fail but gave ${JSON.stringify(value)}`),
    (reason) => reason
  )
  if (!(error instanceof NodeError)) throw error
  return error
}
