import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  answerQuestions,
  askedQuestions,
  expect,
  test,
  untilDoor,
  WITHOUT_LOCAL_NODE
} from '../desktop/desktop-test.ts'

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${signal} ends the app with code 0 and without a question while a spider runs, which continues`, async ({
    launch,
    userData
  }) => {
    const desktop = await launch()
    await desktop.window()
    const { client } = await untilDoor(userData)
    const { job } = await client.system.runDemo()
    const { jobs } = await client.jobs.run({ project: job.project, spiders: ['slow'], args: { seconds: '60' } })
    const isRunning = async () => (await client.jobs.get({ id: jobs[0]!.id })).job.state
    await expect.poll(isRunning).toBe('running')
    const pid = await desktop.evaluate(() => process.pid)
    const beganAt = performance.now()
    process.kill(pid, signal)
    expect(await desktop.exited).toBe(0)
    console.log(`${signal}: ended after ${Math.round(performance.now() - beganAt)} ms`)

    const again = await launch()
    await again.window()
    const next = await untilDoor(userData)
    expect((await next.client.jobs.get({ id: jobs[0]!.id })).job.state).toBe('running')
  })
}

test('a shutdown of the system ends the app without a question', async ({ launch, userData }) => {
  const desktop = await launch()
  await desktop.window()
  const { client } = await untilDoor(userData)
  const { job } = await client.system.runDemo()
  const { jobs } = await client.jobs.run({ project: job.project, spiders: ['slow'], args: { seconds: '60' } })
  await expect.poll(async () => (await client.jobs.get({ id: jobs[0]!.id })).job.state).toBe('running')
  await answerQuestions(desktop, 'Cancel')
  expect(await askedQuestions(desktop)).toEqual([])
  await desktop.evaluate(({ powerMonitor }) => {
    setTimeout(() => powerMonitor.emit('shutdown', { preventDefault() {} }), 50)
  })
  expect(await desktop.exited).toBe(0)
})

test('an unexpected error ends the app cleanly, and it starts again once; the log has the error', async ({
  launch,
  userData
}) => {
  const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
  await desktop.window()
  await desktop.evaluate(({ app }) => {
    // The specs would lose sight of the new process.
    app.relaunch = ((options: { args: string[] }) => console.error('relaunch', options.args.at(-1))) as never
    setTimeout(() => {
      throw new Error('a planted error')
    }, 50)
  })
  expect(await desktop.exited).toBe(1)
  expect(desktop.output()).toContain('a planted error')
  expect(desktop.output()).toContain('relaunch --restarted-after-error')
  expect(readFileSync(join(userData, 'logs', 'scrapdeck.log'), 'utf8')).toContain('a planted error')
})

test('a page whose process was killed is loaded again, on the same screen', async ({ launch }) => {
  const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
  const window = await desktop.window()
  await window.getByRole('link', { name: 'Queue' }).click()
  await expect(window.getByRole('heading', { name: 'Queue' })).toBeVisible()
  const pid = await desktop.evaluate(({ BrowserWindow }) => {
    const { webContents } = BrowserWindow.getAllWindows()[0]!
    const pageEvents: string[] = []
    Object.assign(globalThis, { pageEvents })
    webContents.on('render-process-gone', () => pageEvents.push('render-process-gone'))
    webContents.on('did-finish-load', () => pageEvents.push('did-finish-load', webContents.getURL()))
    return webContents.getOSProcessId()
  })
  process.kill(pid, 'SIGKILL')
  // The page's own events, because Playwright cannot follow a page into another process.
  const seen = () => desktop.evaluate(() => (globalThis as unknown as { pageEvents: string[] }).pageEvents)
  await expect.poll(seen).toEqual(['render-process-gone', 'did-finish-load', expect.stringMatching(/#\/queue$/)])
})
