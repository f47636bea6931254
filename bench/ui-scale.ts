import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from '@playwright/test'
import { chromiumLaunchOptions } from '../e2e/support/chromium.ts'
import {
  BUSY_NODES,
  BUSY_SLOTS,
  cancelAllAndUndo,
  MARKED_JOBS,
  openBusyScreen,
  openFullQueue,
  recordLongTasks,
  serveBusyFleet
} from '../e2e/support/long-tasks.ts'
import type { Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'

export const about = 'the longest task of the page while a thousand nodes with 16 slots each change every second'

const MEASURE_MS = 10_000
const SCREENS = { overview: '#/', nodes: '#/nodes' } as const

/** Measures in a trace of the production build, over the desktop's transport. The engine runs in its own thread. */
export async function run(): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-ui-scale-'))
  const fleet = await serveBusyFleet(directory)
  const browser = await chromium.launch(chromiumLaunchOptions())
  try {
    const figures: Figure[] = []
    for (const [screen, hash] of Object.entries(SCREENS)) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
      await openBusyScreen(page, fleet.address, hash)
      const { longestMs, over50, coreShare } = await recordLongTasks(page, MEASURE_MS)
      await page.close()
      const conditions = {
        screen,
        nodes: BUSY_NODES,
        slots_per_node: BUSY_SLOTS,
        changes_per_s: 3 * BUSY_NODES,
        measured_s: MEASURE_MS / 1000,
        time: 'CPU of the main thread',
        ...machine()
      }
      figures.push(
        { figure: `${screen}_longest_task_ms`, value: longestMs, unit: 'ms', conditions },
        { figure: `${screen}_tasks_over_50_ms`, value: over50, unit: 'tasks', conditions },
        { figure: `${screen}_core_share`, value: coreShare, unit: 'cores', conditions }
      )
    }
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await openFullQueue(page, fleet.address)
    const { longestMs, over50 } = await recordLongTasks(page, () => cancelAllAndUndo(page))
    const conditions = {
      screen: 'jobs',
      what: 'marked, cancelled and brought back',
      marked_jobs: MARKED_JOBS,
      nodes: BUSY_NODES,
      slots_per_node: BUSY_SLOTS,
      changes_per_s: 3 * BUSY_NODES,
      time: 'CPU of the main thread',
      ...machine()
    }
    figures.push(
      { figure: 'bulk_longest_task_ms', value: longestMs, unit: 'ms', conditions },
      { figure: 'bulk_tasks_over_50_ms', value: over50, unit: 'tasks', conditions }
    )
    return figures
  } finally {
    await browser.close()
    await fleet.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
