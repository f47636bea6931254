import { type IncomingMessage, createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import type { Page } from '@playwright/test'
import react from '@vitejs/plugin-react'
import { build } from 'vite'

const rendererRoot = resolve(import.meta.dirname, '../../src/renderer')

export const BUSY_NODES = 1_000
export const BUSY_SLOTS = 16
const SETTLE_MS = 2_500

export interface LongTasks {
  /** The duration of the longest task of the page's main thread, in CPU time, which other processes hardly affect. */
  longestMs: number
  /** The number of tasks over 50 ms, and the share of a core that the page used. */
  over50: number
  coreShare: number
  longest: { ms: number; atMs: number }[]
}

export async function serveBusyFleet(outDirectory: string): Promise<{ address: string; stop: () => Promise<void> }> {
  await build({
    configFile: false,
    root: rendererRoot,
    base: './',
    plugins: [react()],
    logLevel: 'error',
    worker: { format: 'es' },
    build: {
      outDir: outDirectory,
      emptyOutDir: true,
      target: 'es2024',
      chunkSizeWarningLimit: 10_000,
      rollupOptions: { input: { scale: join(rendererRoot, 'testing/scale.html') } }
    }
  })
  const server = createServer((request, response) => void answer(outDirectory, request, response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}/testing/scale.html`,
    stop: () => close(server)
  }
}

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

async function answer(directory: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  try {
    const body = await readFile(join(directory, pathname.replaceAll('..', '')))
    response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'application/octet-stream' }).end(body)
  } catch {
    response.writeHead(404).end()
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((done) => server.close(() => done()))
}

export async function openBusyScreen(
  page: Page,
  address: string,
  hash: '#/' | '#/nodes'
): Promise<() => Promise<string>> {
  await page.goto(`${address}?nodes=${BUSY_NODES}&slots=${BUSY_SLOTS}${hash}`)
  const shown = hash === '#/' ? page.locator('canvas') : page.getByRole('grid', { name: 'Nodes' })
  await shown.waitFor({ timeout: 30_000 })
  await page.waitForTimeout(SETTLE_MS)
  return hash === '#/'
    ? () => shown.evaluate((canvas) => (canvas as unknown as { toDataURL(): string }).toDataURL())
    : () => shown.innerText()
}

interface TraceEvent {
  name: string
  ph: string
  pid: number
  tid: number
  ts: number
  dur?: number
  /** Thread duration in µs. */
  tdur?: number
  args?: { name?: string }
}

export const MARKED_JOBS = 10_000

export async function openFullQueue(page: Page, address: string): Promise<void> {
  await page.goto(`${address}?nodes=${BUSY_NODES}&slots=${BUSY_SLOTS}&jobs=${MARKED_JOBS}#/jobs?status=queued`)
  await page.getByRole('grid', { name: 'Jobs' }).waitFor({ timeout: 30_000 })
  await page.waitForTimeout(SETTLE_MS)
}

/**
 * Selects all jobs, cancels them and undoes the cancel. Resolves when the jobs are queued again, so this can be
 * repeated.
 */
export async function cancelAllAndUndo(page: Page): Promise<void> {
  const whole = page.getByRole('button', { name: /^queued/ }).filter({ hasText: /10,\d{3}/ })
  await whole.waitFor()
  await page.getByRole('checkbox', { name: 'Select all rows shown' }).click()
  const bar = page.getByRole('toolbar', { name: 'Selected jobs' })
  await bar.getByRole('button', { name: /^Select all/ }).click()
  await bar.getByText('10,000 jobs selected').waitFor({ timeout: 60_000 })
  await bar.getByRole('button', { name: 'Cancel 10,000' }).click()
  await page.getByText('Cancelled 10,000 jobs').waitFor({ timeout: 30_000 })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Cancelled 10,000 jobs').waitFor({ state: 'detached', timeout: 30_000 })
  await whole.waitFor()
  // Waits for the list, which is reloaded after the counts. Without the queued jobs, it has only several dozen rows.
  await page.waitForFunction(`document.querySelector('[role="grid"]').getAttribute('aria-rowcount') > 100`)
}

/** Records a trace of the page during `work` (or for that many milliseconds) and extracts its main thread's tasks. */
export async function recordLongTasks(page: Page, work: number | (() => Promise<void>)): Promise<LongTasks> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])))
  const complete = new Promise<void>((done) => session.once('Tracing.tracingComplete', () => done()))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', '__metadata'] }
  })
  const begunAtMs = performance.now()
  await (typeof work === 'number' ? page.waitForTimeout(work) : work())
  const durationMs = performance.now() - begunAtMs
  await session.send('Tracing.end')
  await complete
  await session.detach()
  return readTasks(events, durationMs)
}

function readTasks(events: readonly TraceEvent[], durationMs: number): LongTasks {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const tasksOf = ({ pid, tid }: TraceEvent) =>
    outermost(
      events.filter(
        (event) => event.pid === pid && event.tid === tid && event.ph === 'X' && /RunTask$/.test(event.name)
      )
    )
  // The page is the renderer that used the most CPU time.
  const tasks = mains
    .map(tasksOf)
    .sort((left, right) => sum(right) - sum(left))
    .at(0)
  if (tasks === undefined || tasks.length === 0)
    throw new Error('The trace holds no task of a page: nothing was measured')
  const startedAt = Math.min(...tasks.map(({ ts }) => ts))
  const longest = tasks
    .map((task) => ({ ms: cpuMs(task), atMs: Math.round((task.ts - startedAt) / 1000) }))
    .sort((left, right) => right.ms - left.ms)
    .slice(0, 5)
  return {
    longestMs: longest[0]?.ms ?? 0,
    over50: tasks.filter((task) => cpuMs(task) > 50).length,
    coreShare: Math.round((sum(tasks) / durationMs) * 100) / 100,
    longest
  }
}

/**
 * Returns only outermost tasks. Each task appears twice in the trace: as the scheduler's and, nested in it, as the
 * thread's.
 */
function outermost(tasks: readonly TraceEvent[]): TraceEvent[] {
  let endsAt = 0
  return tasks
    .toSorted((left, right) => left.ts - right.ts || (right.dur ?? 0) - (left.dur ?? 0))
    .filter(({ ts, dur = 0 }) => {
      if (ts < endsAt) return false
      endsAt = ts + dur
      return true
    })
}

const cpuMs = ({ tdur, dur }: TraceEvent) => Math.round((tdur ?? dur ?? 0) / 100) / 10
const sum = (tasks: readonly TraceEvent[]) => tasks.reduce((total, task) => total + cpuMs(task), 0)
