import { type ChildProcess, fork, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Browser, type Page, _electron, chromium } from '@playwright/test'
import type * as Electron from 'electron'
import { until } from '../../src/engine/testing/until.ts'

const projectDirectory = resolve(import.meta.dirname, '../..')
const standInDirectory = join(projectDirectory, 'e2e/electron-stand-in')
const WINDOW_LIMIT_MS = 60_000

export interface DesktopOptions {
  userData: string
  arguments?: string[]
  environment?: Record<string, string>
}

/** The built desktop app under test, on real Electron or on the stand-in. The specs run on either. */
export interface Desktop {
  kind: 'electron' | 'stand-in'
  window(): Promise<Page>
  pages(): Page[]
  /** Runs in the main process. The function must be self-contained, because only its source text is sent. */
  evaluate<Argument, Result>(
    run: (electron: typeof Electron, argument: Argument) => Result | Promise<Result>,
    argument: Argument
  ): Promise<Result>
  evaluate<Result>(run: (electron: typeof Electron) => Result | Promise<Result>): Promise<Result>
  /** Resolves to the exit code when the process has ended. */
  exited: Promise<number | null>
  output(): string
  /** Sends SIGTERM, like a logout, then SIGKILL. */
  close(): Promise<void>
}

type FromStandIn =
  | { kind: 'browser'; endpoint: string }
  | { kind: 'evaluated'; id: number; value?: unknown; error?: string }

export function appUrl(kind: Desktop['kind'], path = ''): string {
  return (kind === 'electron' ? 'scrapdeck-app://app/' : 'https://scrapdeck-app.app.localhost/') + path
}

/** Returns the path of Electron's binary: SCRAPDECK_ELECTRON, or the app's own. null: it could not be downloaded. */
export function findElectron(): string | null {
  const given = process.env['SCRAPDECK_ELECTRON']
  if (given !== undefined) return given
  const directory = join(projectDirectory, 'node_modules/electron')
  const pathFile = join(directory, 'path.txt')
  if (!existsSync(pathFile)) return null
  const binary = join(directory, 'dist', readFileSync(pathFile, 'utf8').trim())
  return existsSync(binary) ? binary : null
}

export function launchDesktop(options: DesktopOptions): Promise<Desktop> {
  const binary = findElectron()
  return binary ? launchElectron(binary, options) : launchStandIn(options)
}

/** Starts a second instance on the same user data. Resolves to its exit code. */
export function startSecondInstance(options: DesktopOptions): Promise<number | null> {
  const binary = findElectron()
  const [command, commandArguments] = binary
    ? [binary, [...electronArguments(options)]]
    : [process.execPath, [...standInArguments(), projectEntry(), ...processArguments(options)]]
  const child = spawn(command, commandArguments, { env: { ...process.env, ...options.environment }, stdio: 'ignore' })
  return new Promise((resolveExit) => child.once('exit', resolveExit))
}

async function launchElectron(executablePath: string, options: DesktopOptions): Promise<Desktop> {
  const application = await _electron.launch({
    executablePath,
    args: electronArguments(options),
    env: { ...environmentOfApp(), ...options.environment }
  })
  const child = application.process()
  const output = collectOutput(child)
  const exited = new Promise<number | null>((resolveExit) => child.once('exit', resolveExit))
  return {
    kind: 'electron',
    pages: () => application.windows(),
    window: () => findWindow(() => application.windows(), 'electron', output),
    evaluate: ((run: never, argument: never) => application.evaluate(run, argument)) as Desktop['evaluate'],
    exited,
    output,
    close: () => endProcess(child, exited)
  }
}

async function launchStandIn(options: DesktopOptions): Promise<Desktop> {
  const child = fork(projectEntry(), processArguments(options), {
    execPath: process.execPath,
    execArgv: standInArguments(),
    env: { ...process.env, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc']
  })
  const output = collectOutput(child)
  const exited = new Promise<number | null>((resolveExit) => child.once('exit', resolveExit))
  const answers = new Map<number, (message: { value?: unknown; error?: string }) => void>()
  let endpoint: string | null = null
  let browser: Browser | null = null
  let nextId = 1

  child.on('message', (message: FromStandIn) => {
    if (message.kind === 'browser') endpoint = message.endpoint
    else answers.get(message.id)?.(message)
  })
  const pages = () => browser?.contexts().flatMap((context) => context.pages()) ?? []

  return {
    kind: 'stand-in',
    pages,
    async window() {
      if (!browser) browser = await chromium.connectOverCDP(await untilPrinted('a window', () => endpoint, output))
      return findWindow(pages, 'stand-in', output)
    },
    evaluate: ((run: unknown, argument: unknown) =>
      new Promise<unknown>((resolveValue, reject) => {
        const id = nextId++
        answers.set(id, ({ value, error }) => (error ? reject(new Error(error)) : resolveValue(value)))
        child.send({ id, source: String(run), argument })
      })) as Desktop['evaluate'],
    exited,
    output,
    async close() {
      await endProcess(child, exited)
      await browser?.close()
    }
  }
}

function findWindow(pages: () => Page[], kind: Desktop['kind'], output: () => string): Promise<Page> {
  const find = () => pages().find((candidate) => candidate.url().startsWith(appUrl(kind)))
  return untilPrinted('a window with the UI', find, output)
}

/** Waits until `find` returns a value. If it does not, the error includes the app's output. */
async function untilPrinted<Value>(
  what: string,
  find: () => Value | null | undefined,
  output: () => string
): Promise<NonNullable<Value>> {
  const found = await until(what, find, Boolean, WINDOW_LIMIT_MS).catch((cause: unknown) => {
    throw new Error(`${(cause as Error).message} The app printed:\n${output()}`, { cause })
  })
  return found as NonNullable<Value>
}

async function endProcess(child: ChildProcess, exited: Promise<number | null>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(timer)
}

function collectOutput(child: ChildProcess): () => string {
  let text = ''
  child.stdout?.on('data', (piece) => (text += piece))
  child.stderr?.on('data', (piece) => (text += piece))
  return () => text
}

/** Without the variables of the tests, which the app would report as unknown ones. */
function environmentOfApp(): Record<string, string> {
  const { SCRAPDECK_ELECTRON: _binary, SCRAPDECK_ELECTRON_APP: _app, ...kept } = process.env as Record<string, string>
  return kept
}

// Passes the package's directory instead of the bundle, so that app.getAppPath() returns the same as for a user.
// SCRAPDECK_ELECTRON_APP is the app that was built for an older Electron (older-electron/build.ts).
const electronArguments = (options: DesktopOptions) => [
  process.env['SCRAPDECK_ELECTRON_APP'] ?? projectDirectory,
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ...processArguments(options)
]
const standInArguments = () => ['--import', join(standInDirectory, 'register.ts')]
const projectEntry = () => process.env['SCRAPDECK_MAIN_BUNDLE'] ?? join(projectDirectory, 'out/main/index.js')
const processArguments = (options: DesktopOptions) => [
  `--user-data-dir=${options.userData}`,
  ...(options.arguments ?? [])
]
