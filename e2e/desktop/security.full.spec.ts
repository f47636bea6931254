import { appUrl } from '../support/desktop.ts'
import { expect, sharedTest as test } from './desktop-test.ts'

test('the window has every protection enabled', async ({ desktop, window }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const preferences = await desktop.evaluate(({ BrowserWindow }) => {
    const contents = BrowserWindow.getAllWindows()[0]?.webContents
    // Electron's types lack getLastWebPreferences, which returns the page's actual preferences.
    return (contents as unknown as { getLastWebPreferences(): Record<string, unknown> }).getLastWebPreferences()
  })
  expect(preferences).toMatchObject({
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webSecurity: true,
    webviewTag: false
  })
  for (const name of [
    'nodeIntegrationInWorker',
    'nodeIntegrationInSubFrames',
    'allowRunningInsecureContent',
    'experimentalFeatures'
  ]) {
    expect(preferences[name] ?? false, name).toBe(false)
  }
})

test('the page cannot leave its origin', async ({ desktop, window }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  for (const target of ['https://example.com/', 'file:///etc/hostname', 'data:text/html,<h1>elsewhere</h1>']) {
    await window.evaluate((url) => {
      globalThis.location.href = url
    }, target)
    // Within this time, an allowed load would have started.
    await window.waitForTimeout(300)
    // Asks the page: on a real Electron, Playwright waits forever for a navigation that the app prevented.
    const { origin, heading } = await window.evaluate(() => ({
      origin: globalThis.location.href,
      heading: document.querySelector('h1')?.textContent
    }))
    expect(origin.startsWith(appUrl(desktop.kind)), target).toBe(true)
    expect(heading).toBe('Overview')
  }
  await window.reload()
})

test('window.open opens no window; web links open in the browser, and all others are dropped', async ({
  desktop,
  window
}) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await desktop.evaluate(({ shell }) => {
    const opened: string[] = []
    Object.assign(globalThis, { openedLinks: opened })
    shell.openExternal = async (url) => void opened.push(url)
  })
  for (const url of [
    'https://docs.scrapy.org/en/latest/',
    'http://user:secret@example.com/',
    'file:///etc/hostname',
    'javascript:alert(1)',
    'mailto:somebody@example.com'
  ]) {
    await window.evaluate((target) => void globalThis.open(target, '_blank', 'noopener'), url)
  }
  await expect
    .poll(() => desktop.evaluate(() => (globalThis as unknown as { openedLinks: string[] }).openedLinks))
    .toEqual(['https://docs.scrapy.org/en/latest/'])
  await expect.poll(() => desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
  await expect.poll(() => desktop.pages().length).toBe(1)
})

test('permissions are refused', async ({ window }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const states = await window.evaluate(async () => {
    const names = ['notifications', 'geolocation', 'midi'] as PermissionName[]
    return Promise.all(names.map(async (name) => (await navigator.permissions.query({ name })).state))
  })
  expect(states).toEqual(['denied', 'denied', 'denied'])
})

test('a page of another origin gets no transport, even with our preload in it', async ({ desktop, window }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await desktop.evaluate(async ({ app, BrowserWindow }) => {
    const preload = `${app.getAppPath()}/out/preload/index.cjs`
    const foreign = new BrowserWindow({
      show: false,
      webPreferences: { preload, sandbox: true, contextIsolation: true }
    })
    await foreign.loadURL('data:text/html,<title>foreign</title>')
  })
  let page = window
  await expect
    .poll(() => {
      page = desktop.pages().find((each) => each.url().startsWith('data:')) ?? window
      return page !== window
    })
    .toBe(true)
  const answer = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const bridge = (globalThis as unknown as { scrapdeck: { requestWire(to: string): void } }).scrapdeck
        globalThis.addEventListener('message', (event) => resolve(`a port: ${event.ports.length}`))
        setTimeout(() => resolve('nothing'), 1_000)
        bridge.requestWire('local')
      })
  )
  expect(answer).toBe('nothing')
  // The same request from our own page succeeds, so the refusal above did not come from a broken preload.
  const ours = await window.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const bridge = (globalThis as unknown as { scrapdeck: { requestWire(to: string): void } }).scrapdeck
        globalThis.addEventListener('message', (event) => resolve(`a port: ${event.ports.length}`))
        setTimeout(() => resolve('nothing'), 5_000)
        bridge.requestWire('local')
      })
  )
  expect(ours).toBe('a port: 1')
  expect(desktop.output()).toContain('A connection was refused for data:')
  await desktop.evaluate(({ BrowserWindow }) => {
    const isForeign = ({ webContents }: Electron.BrowserWindow) => webContents.getURL().startsWith('data:')
    BrowserWindow.getAllWindows().find(isForeign)?.destroy()
  })
  await expect.poll(() => desktop.pages().length).toBe(1)
})

test('files outside the UI cannot be read through its origin', async ({ desktop, window }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const statuses = await window.evaluate(async (base) => {
    // The policy allows scripts from the page's own origin, so this is the likeliest attack.
    const load = (path: string) =>
      new Promise<string>((resolve) => {
        const script = document.createElement('script')
        script.onload = () => resolve('loaded')
        script.onerror = () => resolve('refused')
        script.src = base + path
        document.head.append(script)
      })
    return Promise.all(['..%2fmain/index.js', '..%2f..%2fpackage.json', 'assets/..%2f..%2fpreload/index.cjs'].map(load))
  }, appUrl(desktop.kind))
  expect(statuses).toEqual(['refused', 'refused', 'refused'])
})
