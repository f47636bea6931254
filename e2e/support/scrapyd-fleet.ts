import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'

export type ScrapydVersion = '1.2.1' | '1.3.0' | '1.4.3' | '1.5.0' | '1.6.0'

export interface ScrapydOptions {
  /** Default: 1.6.0. `scrapydProblem` returns why another version cannot run here. */
  version?: ScrapydVersion
  /** Default: a free port, which a restart keeps. */
  port?: number
  maxProc?: number
  /** How often Scrapyd checks for a free slot. Scrapyd's default is 5; ours is 0.5 to keep tests fast. */
  pollIntervalSeconds?: number
  /** For eggs, logs, items and databases. Default: a temporary directory that `stop` removes. */
  directory?: string
  username?: string
  password?: string
  configuration?: Record<string, string | number>
  otherSections?: string
  /** The Python of an environment in which this version is installed. Default: the Python of the tests. */
  python?: string
  environment?: Record<string, string>
  /**
   * Which processes are forked instead of started from scratch, if that is safe. A new Python needs half a second to
   * import Scrapy (forking_runner.py).
   */
  forks?: 'spiders and lists' | 'lists' | 'nothing'
}

export interface Scrapyd {
  /** With a trailing slash, without credentials. */
  url: string
  port: number
  version: ScrapydVersion
  directory: string
  pid(): number | null
  output(): string
  /** Sends SIGKILL. As after a real crash, spiders survive as orphans, unless `withSpiders`. */
  kill(options?: { withSpiders?: boolean }): Promise<void>
  /** Starts again on the same port and in the same directory, after `kill`. */
  restart(): Promise<void>
  /** Ends the daemon and its spiders. Can be called twice. */
  stop(): Promise<void>
}

const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 5_000

/** Returns why this version cannot run with the available Python. null: it can. */
export function scrapydProblem(version: ScrapydVersion): string | null {
  const installation = readTestEnvironment().scrapyd[version]
  return installation ? installation.problem : 'it is not installed; run `npm run setup`'
}

export async function startScrapyd(options: ScrapydOptions = {}): Promise<Scrapyd> {
  const { version = '1.6.0', environment = {} } = options
  const problem = scrapydProblem(version)
  if (problem) throw new Error(`Scrapyd ${version} cannot run here: ${problem}`)
  const { scrapyd, python: testPython } = readTestEnvironment()
  const { python = testPython } = options
  const pythonPath = environment['PYTHONPATH'] ?? scrapyd[version]?.pythonPath ?? ''
  const { forks = 'spiders and lists' } = options
  const isForking = CAN_FORK && forks !== 'nothing' && options.configuration?.['runner'] === undefined
  const isTemporary = options.directory === undefined
  const directory = options.directory ?? fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-scrapyd-'))
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}/`
  fs.mkdirSync(directory, { recursive: true })
  const configuration = { ...(isForking && { runner: 'forking_runner' }), ...options.configuration }
  fs.writeFileSync(path.join(directory, 'scrapyd.conf'), configurationText({ ...options, configuration, port }))

  let output = ''
  let daemon: ChildProcess | null = null
  // A process group outlives its leader, so after `kill` its orphans can be signaled through it.
  const groups = new Set<number>()
  const endGroups = () => {
    for (const group of groups) signalGroup(group, 'SIGKILL')
  }
  process.on('exit', endGroups)

  const start = async () => {
    const started = spawn(python, ['-m', moduleOf(version), '--pidfile='], {
      cwd: directory,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PYTHONUNBUFFERED: '1',
        ...environment,
        PYTHONPATH: pythonPath,
        ...(isForking && {
          PYTHONPATH: [import.meta.dirname, pythonPath].filter(Boolean).join(path.delimiter),
          FORKING_RUNNER: parentOfSpiders(version),
          FORKED: forks === 'lists' ? 'list' : 'crawl,list'
        })
      }
    })
    started.stdout.on('data', (piece) => (output += piece))
    started.stderr.on('data', (piece) => (output += piece))
    daemon = started
    if (started.pid !== undefined) groups.add(started.pid)
    await waitUntilItAnswers(started)
  }

  const waitUntilItAnswers = async (started: ChildProcess) => {
    const hasEnded = () => started.exitCode !== null || started.signalCode !== null
    let isUp = false
    const hasAnswered = async () => (isUp = await answers(`${url}daemonstatus.json`)) || hasEnded()
    await until(`Scrapyd on port ${port}`, hasAnswered, Boolean, START_LIMIT_MS).catch(() => {})
    if (isUp) return
    await scrapydServer.stop()
    throw new Error(`Scrapyd ${version} did not answer on port ${port}. It printed:\n${output.slice(-4000)}`)
  }

  const end = async (signal: NodeJS.Signals) => {
    const ending = daemon
    daemon = null
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    const exited = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_LIMIT_MS)
    await exited
    clearTimeout(timer)
  }

  const scrapydServer: Scrapyd = {
    url,
    port,
    version,
    directory,
    pid: () => daemon?.pid ?? null,
    output: () => output,
    async kill({ withSpiders = false } = {}) {
      await end('SIGKILL')
      if (withSpiders) endGroups()
    },
    async restart() {
      await end('SIGTERM')
      await start()
    },
    async stop() {
      await end('SIGTERM')
      endGroups()
      process.off('exit', endGroups)
      if (isTemporary) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  await start()
  return scrapydServer
}

const CAN_FORK = process.platform === 'linux'
/**
 * The socket names of the Pythons that fork spiders, by version. They end with this process, because it holds their
 * stdin.
 */
const parents = new Map<ScrapydVersion, string>()

/** Returns the socket name of a Python that has imported this version's Scrapy and forks its spiders. */
function parentOfSpiders(version: ScrapydVersion): string {
  const known = parents.get(version)
  if (known !== undefined) return known
  const { python, scrapyd } = readTestEnvironment()
  const name = `scrapdeck-spiders-${version}-${randomUUID()}`
  parents.set(version, name)
  const parent = spawn(python, ['-m', 'forking_runner'], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {
      ...process.env,
      PYTHONPATH: [import.meta.dirname, scrapyd[version]?.pythonPath].filter(Boolean).join(path.delimiter),
      FORKING_RUNNER: name
    }
  })
  parent.unref()
  ;(parent.stdin as net.Socket).unref()
  return name
}

/** Starts several Scrapyds concurrently. If one fails, stops the others. */
export async function startScrapydFleet(fleet: ScrapydOptions[]): Promise<Scrapyd[]> {
  const results = await Promise.allSettled(fleet.map((options) => startScrapyd(options)))
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find((result) => result.status === 'rejected')
  if (!failed) return started
  await Promise.all(started.map((server) => server.stop()))
  throw failed.reason
}

function configurationText(options: ScrapydOptions & { port: number }): string {
  const values: Record<string, string | number | undefined> = {
    bind_address: '127.0.0.1',
    http_port: options.port,
    max_proc: options.maxProc ?? 2,
    poll_interval: options.pollIntervalSeconds ?? 0.5,
    eggs_dir: 'eggs',
    logs_dir: 'logs',
    items_dir: 'items',
    dbs_dir: 'dbs',
    username: options.username,
    password: options.password,
    ...options.configuration
  }
  const lines = Object.entries(values).filter(([, value]) => value !== undefined)
  return `[scrapyd]\n${lines.map(([name, value]) => `${name} = ${value}\n`).join('')}${options.otherSections ?? ''}`
}

/** Scrapyd has been runnable as a package since 1.5. */
function moduleOf(version: ScrapydVersion): string {
  return version < '1.5' ? 'scrapyd.scripts.scrapyd_run' : 'scrapyd'
}

/** Whether the server responds. Any HTTP response counts, such as 401 if there is a password. */
async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) })
    await response.body?.cancel()
    return true
  } catch {
    return false
  }
}

export async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as net.AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch (error) {
    // ESRCH means that all processes of the group have ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
