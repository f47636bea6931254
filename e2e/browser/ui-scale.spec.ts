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

/** `npm run bench -- ui-scale` measures for longer, on a quiet machine. */
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
  test(`${screen} holds the page up for less than 50 ms while a thousand nodes change every second`, async ({
    page
  }) => {
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

/**
 * Measures CPU time of the page's thread. A busy machine can only make that longer (cache contention), never shorter,
 * so the best of up to three rounds is closest to the cost of the work itself.
 */
async function expectShortTasks(page: Page, work: Parameters<typeof recordLongTasks>[1]): Promise<void> {
  const rounds: Awaited<ReturnType<typeof recordLongTasks>>[] = []
  while (rounds.length < 3 && rounds.every(({ longestMs }) => longestMs >= 50)) {
    rounds.push(await recordLongTasks(page, work))
  }
  const longest = rounds.map((round) => round.longest)
  expect(Math.min(...rounds.map(({ longestMs }) => longestMs)), JSON.stringify(longest)).toBeLessThan(50)
}
