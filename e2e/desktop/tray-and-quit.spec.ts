import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { until } from '../../src/engine/testing/until.ts'
import { answerQuestions, askedQuestions, expect, quit, sharedTest, test, untilDoor } from './desktop-test.ts'

async function startSpider(userData: string, window: Page): Promise<{ jobId: string; logPath: string }> {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const door = await untilDoor(userData)
  const { job } = await door.client.system.runDemo()
  const { jobs } = await door.client.jobs.run({ project: job.project, spiders: ['slow'], args: { seconds: '120' } })
  const jobId = jobs[0]?.id ?? ''
  const logPath = join(userData, 'data/local/logs', job.project, 'slow', `${jobId}.log`)
  await until(
    'the spider to run and the demo to end',
    async () => ({
      log: readLog(logPath).length,
      slow: (await door.client.jobs.get({ id: jobId })).job.state,
      demo: (await door.client.jobs.get({ id: job.id })).job.state
    }),
    ({ log, slow, demo }) => log > 0 && slow === 'running' && demo === 'ended'
  )
  return { jobId, logPath }
}

/** Reads a log. Only the spider's own output proves that the spider is alive. */
function readLog(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

async function expectLogToGrow(path: string): Promise<void> {
  const before = readLog(path).length
  await expect.poll(() => readLog(path).length).toBeGreaterThan(before)
}

sharedTest(
  'while a spider runs, quitting asks, and Cancel keeps everything as it is',
  async ({ desktop, window, userData }) => {
    const { jobId, logPath } = await startSpider(userData, window)
    await answerQuestions(desktop, 'Cancel')
    await desktop.evaluate(({ app }) => app.quit())
    await expect.poll(() => askedQuestions(desktop)).toHaveLength(1)
    const [question] = await askedQuestions(desktop)
    expect(question?.message).toBe('1 spider is running on this computer')
    expect(question?.buttons).toHaveLength(3)
    await expectLogToGrow(logPath)
    const door = await untilDoor(userData)
    expect((await door.client.jobs.get({ id: jobId })).job.state).toBe('running')
  }
)

test('quitting with "keep" leaves the spider running, and the next start finds it again; with "stop" it ends first', async ({
  desktop,
  window,
  userData,
  launch
}) => {
  const { jobId, logPath } = await startSpider(userData, window)
  await answerQuestions(desktop, 'keep')
  await quit(desktop)
  await expectLogToGrow(logPath)

  const again = await launch()
  await again.window()
  const door = await untilDoor(userData)
  const detail = await door.client.jobs.get({ id: jobId })
  expect(detail.job.state).toBe('running')
  expect(detail.attempts).toHaveLength(1)
  await expectLogToGrow(logPath)

  await answerQuestions(again, '^Stop')
  await quit(again)
  expect(readLog(logPath)).toMatch(/Spider closed \((shutdown|finished)\)\s*$/)
})

sharedTest('the tray shows what is running, what is free and what failed', async ({ desktop, window, userData }) => {
  await desktop.evaluate(({ Tray }) => {
    Object.assign(globalThis, { trayTips: [] })
    const setToolTip = Tray.prototype.setToolTip
    Tray.prototype.setToolTip = function (text: string) {
      ;(globalThis as unknown as { trayTips: string[] }).trayTips.push(text)
      setToolTip.call(this, text)
    }
  })
  await startSpider(userData, window)
  const lastTip = () => desktop.evaluate(() => (globalThis as unknown as { trayTips: string[] }).trayTips.at(-1))
  await expect.poll(lastTip).toMatch(/^Scrapdeck: 1 running, \d+ free, 0 failed in the last hour$/)

  const door = await untilDoor(userData)
  await door.client.jobs.run({ project: 'demo', spiders: ['broken'] })
  await expect.poll(lastTip, { timeout: 20_000 }).toMatch(/1 failed in the last hour$/)
  await door.client.system.setPaused({ paused: true })
  await expect.poll(lastTip).toMatch(/^Scrapdeck: paused, /)
})

sharedTest('"Pause queue" in the tray pauses the queue', async ({ desktop, window, userData }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await desktop.evaluate(({ Tray }) => {
    const setContextMenu = Tray.prototype.setContextMenu
    Tray.prototype.setContextMenu = function (menu) {
      Object.assign(globalThis, { trayMenu: menu })
      setContextMenu.call(this, menu)
    }
  })
  const isPausedInMenu = () =>
    desktop.evaluate(() => {
      const menu = (globalThis as unknown as { trayMenu?: Electron.Menu }).trayMenu
      return menu?.items.find(({ label }) => label === 'Pause queue')?.checked
    })
  // Waits for each change, because two changes together can cause one rebuild of the menu or none.
  const door = await untilDoor(userData)
  await door.client.system.setPaused({ paused: true })
  await expect.poll(isPausedInMenu).toBe(true)
  await door.client.system.setPaused({ paused: false })
  await expect.poll(isPausedInMenu).toBe(false)
  await desktop.evaluate(() => {
    const menu = (globalThis as unknown as { trayMenu: Electron.Menu }).trayMenu
    menu.items.find(({ label }) => label === 'Pause queue')?.click()
  })
  await expect.poll(async () => (await door.client.system.status()).figures.paused).toBe(true)
  await expect(window.getByRole('button', { name: /Paused/ })).toBeVisible()
})
