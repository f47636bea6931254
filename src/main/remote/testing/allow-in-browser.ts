import { Browser } from '../../../server/testing/identity-provider.ts'
import { CREDENTIALS } from './open-desktop.ts'

/** Logs in as the owner in a browser and allows the sign-in there. Resolves with that browser. */
export async function allowInBrowser(opened: string, { isAllowed = true } = {}): Promise<Browser> {
  const browser = new Browser()
  const { origin } = new URL(opened)
  // For an engine behind an SSH host, the first address redirects to the page.
  const page = opened.includes('#') ? opened : (await browser.go(opened)).location
  const asked = new URLSearchParams(page.split('?')[1])
  const [redirectUri, challenge] = [asked.get('redirect_uri')!, asked.get('code_challenge')]
  const requester = { client: asked.get('client'), host: asked.get('host'), user: asked.get('user') }
  const { code } = await approve(browser, origin, { kind: 'redirect', requester, redirectUri, challenge })
  const answer: Record<string, string> = isAllowed ? { code: code! } : { error: 'access_denied' }
  await browser.go(`${redirectUri}?${new URLSearchParams({ ...answer, state: asked.get('state')! })}`)
  return browser
}

/** Like `allowInBrowser`, for a code that the user enters on this page. */
export async function allowCode(page: string, userCode: string): Promise<void> {
  await approve(new Browser(), new URL(page).origin, { kind: 'code', userCode })
}

async function approve(browser: Browser, origin: string, to: object): Promise<{ code: string | null }> {
  const form = new URLSearchParams({ username: CREDENTIALS.username, password: CREDENTIALS.password })
  await browser.go(`${origin}/ui/login`, { method: 'POST', body: form, headers: { origin } })
  const headers = { origin, 'content-type': 'application/json' }
  const body = JSON.stringify({ to, role: 'operator' })
  const { body: answer } = await browser.go(`${origin}/api/v1/sign-ins`, { method: 'POST', headers, body })
  return JSON.parse(answer) as { code: string | null }
}
