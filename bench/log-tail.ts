import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from '@playwright/test'
import { chromiumLaunchOptions } from '../e2e/support/chromium.ts'
import { recordLongTasks } from '../e2e/support/long-tasks.ts'
import { until } from '../src/engine/testing/until.ts'
import type { Figure, Goal } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { startRunningLog } from './support/running-log.ts'
import { median, progress } from './support/sides.ts'

export const about = 'A log that is flooded, from its file to the terminal of a browser; and the delay of single lines'
export const needsSetup = true

const FLOOD_SECONDS = 10
const FLOOD_MB_PER_S = 60
const LINES = 30

/**
 * A separate process writes Scrapy's lines to the log of a run on the local node: first one at a time, to measure how
 * long each line takes to reach the screen, then 60 MB per second. Lines that the view skips do not count as shown.
 */
export const run = () => measure({ floodSeconds: FLOOD_SECONDS, lines: LINES })

export async function measure({ floodSeconds, lines }: { floodSeconds: number; lines: number }): Promise<Figure[]> {
  const { service, jobId, path, stop } = await startRunningLog()
  const browser = await chromium.launch(chromiumLaunchOptions())
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
    await page.goto(service.loginLink())
    await page.goto(`${service.address}/ui/#/logs?jobs=${jobId}&job=${jobId}`)
    await page.getByText('● live').waitFor()

    const delays: number[] = []
    for (let line = 1; line <= lines; line += 1)
      delays.push(await delayOfLine(page, path, `bench line ${line} of many`))
    progress(`log-tail: a line takes ${Math.round(median(delays))} ms`)

    const before = await figuresOf(page)
    const sizeBefore = statSync(path).size
    let tookMs = 0
    const tasks = await recordLongTasks(page, async () => {
      const beganAtMs = performance.now()
      const writer = spawn(process.execPath, [WRITER, path, String(FLOOD_MB_PER_S), String(floodSeconds)], {
        stdio: 'inherit'
      })
      await once(writer, 'exit')
      const size = statSync(path).size
      await until(
        'the end of the flood on the screen',
        async () => (await figuresOf(page)).sizeBytes,
        (shown) => shown >= size
      )
      tookMs = performance.now() - beganAtMs
    })
    const after = await figuresOf(page)
    const writtenBytes = statSync(path).size - sizeBefore
    const skippedBytes = after.skippedBytes - before.skippedBytes
    const megabytesPerSecond = (bytes: number) => Number((bytes / 1_000 / tookMs).toFixed(1))
    const conditions = {
      flood_mb_per_s: FLOOD_MB_PER_S,
      flood_s: floodSeconds,
      lines,
      viewport: '1280 × 720',
      ...machine()
    }
    const figure = (name: string, value: number, unit: string, goal?: Goal): Figure => ({
      figure: name,
      value,
      unit,
      conditions,
      ...(goal === undefined ? {} : { goal })
    })
    return [
      figure('mb_per_s', megabytesPerSecond(writtenBytes - skippedBytes), 'MB/s', { atLeast: 20 }),
      figure('written_mb_per_s', megabytesPerSecond(writtenBytes), 'MB/s'),
      figure('longest_task_ms', tasks.longestMs, 'ms', { atMost: 50 }),
      figure('page_core_share', tasks.coreShare, 'cores'),
      figure('line_ms', Math.round(median(delays)), 'ms', { atMost: 150 })
    ]
  } finally {
    await browser.close()
    await stop()
  }
}

const WRITER = join(import.meta.dirname, 'support', 'write-log.ts')

async function delayOfLine(page: Page, path: string, text: string): Promise<number> {
  // A string, because benches are compiled without the types of the browser.
  const shown = page.evaluate(`(async () => {
    const last = document.querySelector('[data-testid=log] [role=log]')
    while (!last.textContent.includes(${JSON.stringify(text)})) await new Promise(requestAnimationFrame)
    return Date.now()
  })()`) as Promise<number>
  await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 400))
  const writtenAtMs = Date.now()
  appendFileSync(path, `2026-11-02 12:00:00 [bench] INFO: ${text}\n`)
  return (await shown) - writtenAtMs
}

async function figuresOf(page: Page): Promise<{ sizeBytes: number; skippedBytes: number }> {
  const log = page.getByTestId('log')
  const read = async (name: string) => Number(await log.getAttribute(name))
  return { sizeBytes: await read('data-size-bytes'), skippedBytes: await read('data-skipped-bytes') }
}
