import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink as HttpLink } from '@orpc/client/fetch'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { buildEgg } from '../engine/projects/egg-builder.ts'
import { lockDirectory } from '../engine/storage/sqlite/directory-lock.ts'
import { asSealedText } from '../engine/runtime/secret-box.ts'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import type { Contract } from '../shared/contract/index.ts'
import { APP_HEADER } from '../shared/wire.ts'
import { startEngineHost } from './engine-host.ts'
import { readDesktopSettings } from './settings.ts'

type Client = ContractRouterClient<Contract>

/** The error that closing the HTTP server throws, or null if it closes. */
const door = vi.hoisted(() => ({ problem: null as string | null }))
vi.mock('../server/listen.ts', async (importOriginal) => {
  const { listen } = await importOriginal<typeof import('../server/listen.ts')>()
  return {
    async listen(options: Parameters<typeof listen>[0]) {
      const service = await listen(options)
      return {
        ...service,
        async stop() {
          await service.stop()
          if (door.problem !== null) throw new Error(door.problem)
        }
      }
    }
  }
})

const ROOT = join(import.meta.dirname, '..', '..')
const CREDENTIALS = { username: 'me', password: 'correct horse' }
const authorization = `Basic ${Buffer.from(`${CREDENTIALS.username}:${CREDENTIALS.password}`).toString('base64')}`

async function startHost() {
  const directory = await makeTemporaryDirectory()
  const host = await startEngineHost({
    settings: readDesktopSettings(
      directory.path,
      {
        SCRAPDECK_LOCAL_SLOTS: '0',
        SCRAPDECK_USERNAME: CREDENTIALS.username,
        SCRAPDECK_PASSWORD: CREDENTIALS.password
      },
      directory.path
    ),
    userData: directory.path,
    resourcesDirectory: join(ROOT, 'resources'),
    uiDirectory: directory.path,
    docsDirectory: join(ROOT, 'docs'),
    scrapdeckVersion: 'test',
    logger: pino({ level: 'silent' }),
    secretBox: {
      store: 'file',
      description: 'test',
      seal: async (plainText) => asSealedText(plainText),
      open: async (sealed) => sealed
    }
  })
  onTestFinished(async () => {
    await host.stop().catch(() => undefined)
    await directory.remove()
  })
  return { host, dataDirectory: join(directory.path, 'data'), address: (await host.client.system.status()).address! }
}

async function uploadShop(client: Client): Promise<void> {
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  await client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg'),
    project: 'shop',
    version: '1'
  })
}

test('jobs from a page or the tray are recorded as queued from the app, those of programs as queued via API', async () => {
  const { host, address } = await startHost()
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  host.connect(port1 as never)
  const page: Client = createORPCClient(new PortLink({ port: port2 }))
  const rpc = (headers: Record<string, string>): Client =>
    createORPCClient(new HttpLink({ url: `${address}/api/rpc`, headers: { authorization, ...headers } }))
  await uploadShop(page)
  const asked = { project: 'shop', spiders: ['prices'] }
  const sourceOf = async ({ jobs }: Pick<Awaited<ReturnType<Client['jobs']['run']>>, 'jobs'>) => {
    const { job } = await page.jobs.get({ id: jobs[0]!.id })
    return job.source
  }
  const rest = await fetch(`${address}/api/v1/jobs`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(asked)
  })
  expect({
    page: await sourceOf(await page.jobs.run(asked)),
    tray: await sourceOf(await host.client.jobs.run(asked)),
    browser: await sourceOf(await rpc({ origin: address }).jobs.run(asked)),
    otherDesktop: await sourceOf(await rpc({ [APP_HEADER]: 'desktop' }).jobs.run(asked)),
    script: await sourceOf(await rpc({}).jobs.run(asked)),
    program: await sourceOf((await rest.json()) as Awaited<ReturnType<Client['jobs']['run']>>)
  }).toEqual({
    page: 'ui',
    tray: 'ui',
    browser: 'ui',
    otherDesktop: 'ui',
    script: 'api',
    program: 'api'
  })
})

test('logging out in the window ends the sessions of browsers', async () => {
  const { host, address } = await startHost()
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  host.connect(port1 as never)
  const page: Client = createORPCClient(new PortLink({ port: port2 }))
  const body = new URLSearchParams(CREDENTIALS)
  const login = await fetch(`${address}/ui/login`, { method: 'POST', body, redirect: 'manual' })
  const cookie = String(login.headers.get('set-cookie')).split(';', 1)[0]!
  const browser: Client = createORPCClient(new HttpLink({ url: `${address}/api/rpc`, headers: { cookie } }))
  await browser.system.status()
  expect(await page.system.logOutEverywhere()).toEqual({ ended: 1 })
  await expect(browser.system.status()).rejects.toThrow('No user name and password were sent')
})

test('if the HTTP server does not close, the engine still stops and frees its directory, and stop reports the error', async () => {
  const { host, dataDirectory } = await startHost()
  door.problem = 'a connection hangs'
  onTestFinished(() => {
    door.problem = null
  })
  await expect(host.stop()).rejects.toThrow('a connection hangs')
  lockDirectory(dataDirectory).release()
  await expect(host.stop()).rejects.toThrow('a connection hangs')
})
