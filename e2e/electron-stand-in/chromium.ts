import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BrowserContext, type CDPSession, type Page, chromium } from '@playwright/test'
import { chromiumLaunchOptions } from '../support/chromium.ts'
import { toAppUrl } from './address.ts'
import { answerFromApp, isPermissionGranted } from './session.ts'

let opening: Promise<BrowserContext> | null = null
/** Whether the browser is closing. If so, a page that fails to open is not an error. */
export let isClosing = false

/** The browser for all windows. The test gets its debugging address over the process channel. */
export function openChromium(profileDirectory: string): Promise<BrowserContext> {
  opening ??= launch(profileDirectory)
  return opening
}

export async function closeChromium(): Promise<void> {
  isClosing = true
  await (await opening)?.close()
}

async function launch(profileDirectory: string): Promise<BrowserContext> {
  const options = chromiumLaunchOptions()
  const context = await chromium.launchPersistentContext(profileDirectory, {
    ...options,
    args: [...options.args, '--remote-debugging-port=0']
  })
  await context.route('**/*', async (route) => {
    const request = route.request()
    const response = await answerFromApp(request.method(), request.url())
    if (!response) return route.fallback()
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer())
    })
  })
  const [port] = (await readFile(join(profileDirectory, 'DevToolsActivePort'), 'utf8')).split('\n')
  process.send?.({ kind: 'browser', endpoint: `http://127.0.0.1:${port}` })
  return context
}

let isFirstPageTaken = false

/** The browser starts with one page. The first window uses it, and later windows get new pages. */
export async function openPage(context: BrowserContext): Promise<Page> {
  const [first] = context.pages()
  if (!first || isFirstPageTaken) return context.newPage()
  isFirstPageTaken = true
  return first
}

const PERMISSIONS = ['notifications', 'geolocation', 'midi', 'clipboard-read']

/** Applies the decisions of the app's permission handlers to the browser for the whole session. */
export async function applyPermissions(session: CDPSession, browserUrl: string): Promise<void> {
  if (!browserUrl.startsWith('https:')) return
  for (const name of PERMISSIONS) {
    const isGranted = await isPermissionGranted(name, toAppUrl(browserUrl))
    await session.send('Browser.setPermission', {
      origin: new URL(browserUrl).origin,
      permission: { name },
      setting: isGranted ? 'granted' : 'denied'
    })
  }
}
