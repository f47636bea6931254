import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { onTestFinished } from 'vitest'
import { openEngineWithFakeNode } from '../../engine/testing/engine-with-fake-node.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { listen } from '../../server/listen.ts'
import { createFakeEngine } from '../../server/testing/fake-engine.ts'
import { EXIT_CODES, exitCodeOf } from '../client/exit-codes.ts'
import type { LocalService, Terminal } from '../client/terminal.ts'
import { sayUsageErrors } from '../client/error-text.ts'
import { addClientCommands } from '../client-commands.ts'

export function makeDirectory(files: Record<string, string> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, '..'), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

export async function startEngine(): Promise<{ url: string; engine: ReturnType<typeof createFakeEngine> }> {
  const engine = createFakeEngine()
  return { url: await openServer(engine), engine }
}

/** Starts the HTTP server over any engine, on TCP or a socket. Returns its address. */
export async function openServer(
  engine: Parameters<typeof listen>[0]['engine'],
  { dataDirectory = makeDirectory(), ...options }: { dataDirectory?: string; socket?: string } = {}
): Promise<string> {
  const service = await listen({
    engine,
    dataDirectory,
    uiDirectory: makeDirectory(),
    docsDirectory: makeDirectory(),
    bindAddress: '127.0.0.1',
    port: options.socket === undefined ? 0 : null,
    unixSocketPath: options.socket ?? null,
    allowedHosts: [],
    logger: silentLogger
  })
  onTestFinished(() => service.stop())
  return service.address
}

export async function startServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts the HTTP server over an engine with a fake node. `run` runs a command in a directory with these files. */
export async function openEngine(files: Record<string, string> = {}) {
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  const url = await openServer(engine.engine)
  const { username, password } = engine.engine.credentials
  const directory = makeDirectory(files)
  const run = (...words: string[]) =>
    call(words, { url, password, directory, environment: { SCRAPDECK_USERNAME: username } })
  const post = async (endpoint: string, form: Record<string, string>) => {
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const body = new URLSearchParams(form)
    return (await fetch(`${url}/${endpoint}`, { method: 'POST', headers: { authorization }, body })).json()
  }
  return { engine, url, run, post }
}

interface Call {
  url?: string
  password?: string
  directory?: string
  home?: string
  environment?: Record<string, string>
  isTerminal?: boolean
  /** The service on this machine. By default, none has ever run. */
  service?: LocalService
  /** What the user types at a prompt. By default, the terminal is not interactive. */
  typed?: string
  openBrowser?: Terminal['openBrowser']
  onError?: (text: string) => void
  nowMs?: () => number
  sleep?: (ms: number) => Promise<void>
}

export async function call(words: string[], { url, password = 'correct horse: battery', ...options }: Call = {}) {
  let out = ''
  let error = ''
  const terminal: Terminal = {
    out: (text) => void (out += text),
    error: (text) => {
      error += text
      options.onError?.(text)
    },
    isTerminal: options.isTerminal ?? false,
    environment: {
      SCRAPDECK_URL: url,
      SCRAPDECK_USERNAME: 'scrapdeck',
      SCRAPDECK_PASSWORD: password,
      // Tests must not use the keychain of the user who runs them.
      SCRAPDECK_KEYCHAIN: 'off',
      ...options.environment
    },
    directory: options.directory ?? makeDirectory(),
    homeDirectory: options.home ?? makeDirectory(),
    interrupted: new AbortController().signal,
    nowMs: options.nowMs ?? (() => 61_000),
    sleep: options.sleep ?? (async () => {}),
    ask: async () => options.typed ?? null,
    openBrowser: options.openBrowser ?? null,
    localService: () => options.service ?? { port: 1, dataDirectory: '/nowhere' }
  }
  const program = new Command('scrapdeck').enablePositionalOptions().exitOverride()
  program.configureOutput({ writeErr: (text) => void (error += text), writeOut: (text) => void (out += text) })
  sayUsageErrors(program, words.includes('--json'))
  await addClientCommands(program, terminal, words[0])
  const code = await program.parseAsync(words, { from: 'user' }).then(
    () => 0,
    (caught: unknown) => {
      if (!(caught instanceof CommanderError)) error += caught instanceof Error ? caught.message : String(caught)
      return caught instanceof CommanderError ? EXIT_CODES.usage : exitCodeOf(caught)
    }
  )
  return { code, out, error, program }
}
