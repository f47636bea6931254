import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import {
  cancelAllAndUndo,
  openBusyScreen,
  openFullQueue,
  recordLongTasks,
  serveBusyFleet
} from '../support/long-tasks.ts'

/** How long to measure. `npm run bench -- ui-scale` measures for longer, on a quiet machine. */
const MEASURE_MS = 2_500

let directory = ''
let fleet: Awaited<ReturnType<typeof serveBusyFleet>>

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-ui-scale-'))
  fleet = await serveBusyFleet(directory)
})

test.afterAll(async () => {
  await fleet.stop()
  rmSync(directory, { recursive: true, force: true })
})

for (const [screen, hash] of [
  ['the heat map of Overview', '#/'],
  ['the table of Nodes', '#/nodes']
] as const) {
  test(`${screen} blocks the page for less than 50 ms while a thousand nodes change every second`, async ({ page }) => {
    const look = await openBusyScreen(page, fleet.address, hash)
    const before = await look()
    await expectShortTasks(page, MEASURE_MS)
    expect(await look(), 'what is shown has changed').not.toBe(before)
  })
}

test('marking 10,000 queued jobs, cancelling them and undoing that blocks the page for less than 50 ms at a time', async ({
  page
}) => {
  test.setTimeout(120_000)
  await openFullQueue(page, fleet.address)
  await expectShortTasks(page, () => cancelAllAndUndo(page))
})

/** The maximum duration of a task of the page, on a machine that does the fixed work in REFERENCE_WORK_MS. */
const LIMIT_MS = 50
const REFERENCE_WORK_MS = 10

/**
 * Measures the CPU time of the page's main thread. Load on the machine can only lengthen it, so the shortest of up to
 * three rounds is the most accurate. A slow machine gets a higher limit, in proportion to its time for fixed work.
 */
async function expectShortTasks(page: Page, work: Parameters<typeof recordLongTasks>[1]): Promise<void> {
  const limitMs = LIMIT_MS * Math.max(1, (await page.evaluate(fixedWorkMs)) / REFERENCE_WORK_MS)
  const rounds: Awaited<ReturnType<typeof recordLongTasks>>[] = []
  while (rounds.length < 3 && rounds.every(({ longestMs }) => longestMs >= limitMs)) {
    rounds.push(await recordLongTasks(page, work))
  }
  const longest = rounds.map((round) => round.longest)
  expect(Math.min(...rounds.map(({ longestMs }) => longestMs)), JSON.stringify(longest)).toBeLessThan(limitMs)
}

/**
 * Runs in the page. Returns the time of the fastest of several rounds of fixed work, on as many rows as the largest
 * list has.
 */
function fixedWorkMs(): number {
  const rounds = Array.from({ length: 9 }, () => {
    const beganAt = performance.now()
    const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: `${index}`, args: { page: index } }))
    const copies = new Map((JSON.parse(JSON.stringify(rows)) as typeof rows).map((row) => [row.id, row]))
    return copies.size === rows.length ? performance.now() - beganAt : Number.NaN
  })
  return Math.min(...rounds)
}
