import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { onTestFinished } from 'vitest'
import { type Logger, silentLogger } from '../../engine/runtime/logger.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { createApp } from '../app.ts'
import type { RateLimits } from '../limits.ts'
import { type ListenOptions, listen } from '../listen.ts'
import type { ScrapydEndpointSettings } from '../scrapyd/settings.ts'
import { createFakeEngine, type FakeEngine } from './fake-engine.ts'
import { makeTestDirectory } from '../../engine/testing/test-directory.ts'

export { makeTestDirectory } from '../../engine/testing/test-directory.ts'

export const RIGHT = basic('scrapdeck', 'correct horse: battery')

/** Opens the app with a fake engine and its own data directory. It accepts the host 127.0.0.1:6800. */
export function openTestApp(
  options: {
    allowedHosts?: string[]
    bindAddress?: string
    dataDirectory?: string
    scrapyd?: Partial<ScrapydEndpointSettings>
    rateLimits?: Partial<RateLimits>
    trustedProxies?: string[]
    metrics?: Parameters<typeof createApp>[0]['metrics']
    signIn?: Parameters<typeof createApp>[0]['signIn']
    engine?: FakeEngine
  } = {}
) {
  const dataDirectory = options.dataDirectory ?? makeTestDirectory()
  const uiDirectory = makeTestDirectory()
  mkdirSync(join(uiDirectory, 'assets'))
  writeFileSync(join(uiDirectory, 'index.html'), '<!doctype html><title>Scrapdeck</title>')
  writeFileSync(join(uiDirectory, 'assets', 'index-a1b2c3.js'), 'export {}')
  const clock = createFakeClock()
  const logged: string[] = []
  const keep = (facts: object, text: string) => logged.push(`${text} ${describe(facts)}`)
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep }
  const engine = options.engine ?? createFakeEngine()
  const app = createApp({
    engine,
    dataDirectory,
    uiDirectory,
    docsDirectory: join(import.meta.dirname, '..', '..', '..', 'docs'),
    rateLimits: options.rateLimits,
    trustedProxies: options.trustedProxies,
    metrics: options.metrics,
    signIn: options.signIn,
    bindAddress: options.bindAddress ?? '127.0.0.1',
    port: () => 6800,
    allowedHosts: options.allowedHosts ?? [],
    scrapyd: options.scrapyd,
    clock,
    logger
  })
  onTestFinished(() => app.fastify.close())
  return {
    ...app,
    engine,
    logged,
    dataDirectory,
    uiDirectory,
    clock,
    /** Sends the right password, unless the request has other headers. */
    ask: (request: InjectOptions): Promise<LightMyRequestResponse> =>
      app.fastify.inject({ ...request, headers: { host: '127.0.0.1:6800', authorization: RIGHT, ...request.headers } }),
    askAnonymously: (request: InjectOptions): Promise<LightMyRequestResponse> =>
      app.fastify.inject({ ...request, headers: { host: '127.0.0.1:6800', ...request.headers } })
  }
}

function describe({ err, ...facts }: { err?: unknown }): string {
  return `${String(err ?? '')}${Object.keys(facts).length === 0 ? '' : JSON.stringify(facts)}`
}

/** Opens the same app on a real socket, at a free port of 127.0.0.1. */
export async function openTestService(
  changes: Partial<Omit<ListenOptions, 'engine'>> = {},
  engine: FakeEngine = createFakeEngine()
) {
  const service = await listen({
    engine,
    dataDirectory: makeTestDirectory(),
    uiDirectory: makeTestDirectory(),
    docsDirectory: makeTestDirectory(),
    bindAddress: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    logger: silentLogger,
    ...changes
  })
  onTestFinished(() => service.stop())
  return { engine, service, port: Number(new URL(service.address).port) }
}

export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

export function cookieOf(response: LightMyRequestResponse): string {
  return String(response.headers['set-cookie']).split(';', 1)[0] as string
}
