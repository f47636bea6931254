import { join, resolve } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { vi } from 'vitest'
import { createEngine, type EngineOptions } from '../index.ts'
import { keepLearnedModules, lendLearnedModules } from './learned-modules.ts'
import { OWNER } from '../access/principal.ts'
import { aSpiderEgg } from './spider-egg.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { findTestPython } from './test-python.ts'

export type EngineWithPython = Awaited<ReturnType<typeof startEngineWithPython>>

export async function startEngineWithPython(dataDirectory: string, options: Partial<EngineOptions> = {}) {
  lendLearnedModules(join(dataDirectory, 'local'))
  const engine = await createEngine({
    dataDirectory,
    host: 'service',
    scrapdeckVersion: 'test',
    localSlots: 2,
    resourcesDirectory: resolve('resources'),
    pythonPath: findTestPython(),
    ...options
  })
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  const stop = async () => {
    await engine.stopLocalSpiders()
    await engine.stop()
    keepLearnedModules(join(dataDirectory, 'local'))
  }
  return { engine, client, stop }
}

/** Uses a temporary directory, with Python ready and these spiders as version 1 of `shop`. */
export async function startEngineWithSpiders(spiders: string, options: Partial<EngineOptions> = {}) {
  const directory = await makeTemporaryDirectory()
  const own = await startEngineWithPython(join(directory.path, 'data'), options)
  const { client } = own
  const isReady = async () => (await client.system.status()).python.state === 'ready'
  await vi.waitUntil(isReady, { timeout: 60_000, interval: 50 })
  await client.projects.upload({ file: await aSpiderEgg(spiders), project: 'shop', version: '1' })
  const stop = async () => {
    await own.stop()
    await directory.remove()
  }
  return { ...own, directory, stop }
}
