import { join, resolve } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { createEngine, type EngineOptions } from '../index.ts'
import { keepLearnedModules, lendLearnedModules } from './learned-modules.ts'
import { OWNER } from '../access/principal.ts'
import { findTestPython } from './test-python.ts'

export type EngineWithPython = Awaited<ReturnType<typeof startEngineWithPython>>

/** The whole engine with a local node that runs real spiders, and a client of its router. */
export async function startEngineWithPython(dataDirectory: string, options: Partial<EngineOptions> = {}) {
  lendLearnedModules(join(dataDirectory, 'local'))
  const engine = await createEngine({
    ...{ dataDirectory, host: 'service', scrapdeckVersion: 'test', localSlots: 2 },
    ...{ resourcesDirectory: resolve('resources'), pythonPath: findTestPython() },
    ...options
  })
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  /** With its spiders. */
  const stop = async () => {
    await engine.stopLocalSpiders()
    await engine.stop()
    keepLearnedModules(join(dataDirectory, 'local'))
  }
  return { engine, client, stop }
}
