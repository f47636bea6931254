import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import type { ContractRouterClient } from '@orpc/contract'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { keepLearnedModules, lendLearnedModules } from '../../src/engine/testing/learned-modules.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { Contract } from '../../src/shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { basicAuthorization } from './basic-authorization.ts'

export type Client = ContractRouterClient<Contract>

export interface ServiceOptions {
  /** Default: a temporary directory that `stop` removes. */
  dataDirectory?: string
  localSlots?: number
  /** The file that Node runs. Default: SERVICE_ENTRY. */
  entry?: string
  arguments?: string[]
  environment?: Record<string, string>
}

export interface Service {
  address: string
  dataDirectory: string
  pid(): number | null
  /** A link that logs in one browser once. Each start creates a new one. */
  loginLink(): string
  client: Client
  output(): string
  /** Sends SIGKILL. Spiders on the local node survive. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Sends SIGTERM, then removes temporary data. Can be called twice. */
  stop(): Promise<void>
}

/**
 * The file that Node runs as the command line, relative to the root. `npm test` uses the built service, because it
 * starts in a third of the time. A single test file uses the sources and needs no build.
 */
export const SERVICE_ENTRY = process.env['SERVICE_ENTRY'] ?? 'src/cli/bin.ts'

export const TEST_CREDENTIALS = { username: 'tester', password: 'a password for tests' }

/** Node's flags, as in `npm start`, the systemd unit and the image. V8's default depends on the machine's memory. */
const SERVICE_FLAGS = ['--max-semi-space-size=16']

const projectDirectory = resolve(import.meta.dirname, '../..')
const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 10_000

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const isTemporary = options.dataDirectory === undefined
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), 'scrapdeck-service-'))
  const credentials = TEST_CREDENTIALS
  let child: ChildProcess | null = null
  let output = ''
  let port = '0'
  // A service with extra Python packages would learn other modules, so it neither uses nor records learned ones.
  const learns = options.localSlots !== 0 && !options.environment?.['PYTHONPATH']
  const localDirectory = learns ? join(dataDirectory, 'local') : null
  if (localDirectory !== null) lendLearnedModules(localDirectory)

  const spawnOnce = async (): Promise<void> => {
    const before = output.length
    const started = spawn(
      process.execPath,
      [
        ...SERVICE_FLAGS,
        options.entry ?? SERVICE_ENTRY,
        'serve',
        `--port=${port}`,
        `--data=${dataDirectory}`,
        `--local-slots=${options.localSlots ?? 2}`,
        ...(options.arguments ?? [])
      ],
      {
        cwd: projectDirectory,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          SCRAPDECK_USERNAME: credentials.username,
          SCRAPDECK_PASSWORD: credentials.password,
          SCRAPDECK_PYTHON: readTestEnvironment().python,
          ...options.environment
        }
      }
    )
    child = started
    started.stdout.on('data', (piece) => (output += piece))
    started.stderr.on('data', (piece) => (output += piece))
    const limit = Date.now() + START_LIMIT_MS
    while (!/Open http/.test(output.slice(before))) {
      if (started.exitCode !== null || started.signalCode !== null || Date.now() > limit) {
        started.kill('SIGKILL')
        throw new Error(`The service did not start. It printed:\n${output.slice(before)}`)
      }
      await new Promise((wake) => setTimeout(wake, 20))
    }
    port = new URL(service.address).port
  }

  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = null
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    const exited = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_LIMIT_MS)
    await exited
    clearTimeout(timer)
  }

  const lastMatch = (pattern: RegExp) => {
    const found = [...output.matchAll(pattern)].at(-1)?.[1]
    if (!found) throw new Error(`The service did not print ${pattern}. It printed:\n${output}`)
    return found
  }

  const service: Service = {
    get address() {
      return lastMatch(/Scrapdeck is ready on (\S+)/g)
    },
    dataDirectory,
    pid: () => child?.pid ?? null,
    loginLink: () => lastMatch(/Open (\S+) in your browser/g),
    get client() {
      return connectClient(service.address, credentials)
    },
    output: () => output,
    kill: () => end('SIGKILL'),
    start: spawnOnce,
    async stop() {
      if (child?.exitCode === null && options.localSlots !== 0) await endLocalSpiders(service.client)
      await end('SIGTERM')
      if (localDirectory !== null) keepLearnedModules(localDirectory)
      if (isTemporary) rmSync(dataDirectory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  await spawnOnce()
  if (options.localSlots !== 0) await untilWarm(service)
  return service
}

/** Waits until spiders start warm. Spiders that start earlier would import Scrapy at the same time as the parent. */
async function untilWarm(service: Service): Promise<void> {
  try {
    await until(
      'spiders to start warm',
      async () => (await service.client.system.status()).python,
      ({ state, start }) => state !== 'checking' && start.mode !== 'warming'
    )
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** Ends the spiders of the local node. They outlive the service by design, but must not outlive a test. */
export async function endLocalSpiders(client: Client): Promise<void> {
  const listLive = async () => {
    const { jobs } = await client.jobs.list({ status: ['queued', 'starting', 'running'], limit: 500 })
    return jobs.filter(({ state, nodeId }) => state === 'queued' || nodeId === LOCAL_NODE_ID)
  }
  const ids = (await listLive()).map(({ id }) => id)
  if (ids.length === 0) return
  await client.jobs.cancel({ ids })
  await client.jobs.cancel({ ids, force: true })
  await until('the spiders of the test to end', listLive, (live) => live.length === 0)
}

export function connectClient(address: string, { username, password }: { username: string; password: string }): Client {
  const authorization = basicAuthorization({ username, password })
  return createORPCClient(new RPCLink({ url: `${address}/api/rpc`, headers: { authorization } }))
}
