import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { SERVICE_ENTRY, TEST_CREDENTIALS } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

class CommandLine {
  readonly home = mkdtempSync(join(tmpdir(), 'scrapdeck-login-'))
  readonly #running: ChildProcess[] = []

  run(words: string[], environment: Record<string, string> = {}) {
    const env = {
      PATH: '/nowhere',
      HOME: this.home,
      DISPLAY: ':987',
      SCRAPDECK_KEYCHAIN: 'off',
      LANG: 'C',
      XDG_CONFIG_HOME: '',
      XDG_DATA_HOME: join(this.home, 'data'),
      ...environment
    }
    const child = spawn(process.execPath, [SERVICE_ENTRY, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#running.push(child)
    const printed = { out: '', error: '' }
    child.stdout.on('data', (piece) => (printed.out += piece))
    child.stderr.on('data', (piece) => (printed.error += piece))
    const code = new Promise<number | null>((resolve) => child.once('close', resolve))
    return {
      code,
      printed,
      async says(pattern: RegExp): Promise<string> {
        await expect.poll(() => printed.error, { timeout: 30_000 }).toMatch(pattern)
        return pattern.exec(printed.error)![1]!
      }
    }
  }

  close(): void {
    for (const child of this.#running) child.kill()
    rmSync(this.home, { recursive: true, force: true })
  }
}

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('User name').fill(TEST_CREDENTIALS.username)
  await page.getByLabel('Password').fill(TEST_CREDENTIALS.password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

const PAGE = /(http:\/\/\S+\/ui\/#\/authorize\S*)/

test('scrapdeck login: a user logs in, sees the request, allows only a part of it, and revokes it later', async ({
  page,
  serve
}) => {
  const service = await serve({ localSlots: 0 })
  const line = new CommandLine()
  try {
    const login = line.run(['login', service.address])
    await page.goto(await login.says(PAGE))
    await logIn(page)
    const title = page.getByRole('heading', { name: /^Allow the command line on .+ to act as you\?$/ })
    await expect(title).toBeVisible()
    await page.getByRole('combobox', { name: 'Role' }).click()
    await page.getByRole('option', { name: /^operator/ }).click()
    await page.screenshot({ path: '.cache/screenshots/authorize-light-1280.png' })
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.screenshot({ path: '.cache/screenshots/authorize-dark-390.png' })
    await page.getByRole('button', { name: 'Allow' }).click()
    await expect(page.getByRole('heading', { name: 'Signed in' })).toBeVisible()
    expect(await login.code).toBe(0)
    expect(login.printed.out).toContain(`Logged in to ${service.address} as ${TEST_CREDENTIALS.username} (operator)`)
    const file = readFileSync(join(line.home, '.config/scrapdeck/logins.json'), 'utf8')
    const { token } = (JSON.parse(file) as { logins: { token: string }[] }).logins[0]!
    expect(page.url()).not.toContain(token)

    const jobs = line.run(['jobs', '--url', service.address])
    expect([await jobs.code, jobs.printed.error]).toEqual([0, ''])
    const users = line.run(['users', '--url', service.address])
    expect([await users.code, users.printed.error]).toEqual([4, expect.stringContaining('which the role owner has')])

    await page.goto(`${service.address}/ui/#/access`)
    await expect(page.getByRole('rowheader', { name: /^Command line on / })).toBeVisible()
    const { tokens } = await service.client.tokens.list()
    await service.client.tokens.revoke({ id: tokens[0]!.id })
    const refused = line.run(['jobs', '--url', service.address])
    expect([await refused.code, refused.printed.error]).toEqual([4, expect.stringContaining('Log in again')])
  } finally {
    line.close()
  }
})

test('over SSH, the code that the command line shows is typed in any browser; Deny ends it', async ({
  page,
  serve
}) => {
  const service = await serve({ localSlots: 0 })
  const line = new CommandLine()
  const overSsh = { SSH_CONNECTION: '10.0.0.1 50000 10.0.0.2 22' }
  try {
    const login = line.run(['login', service.address], overSsh)
    const code = await login.says(/code there: +([A-Z]{4}-[A-Z]{4})/)
    await page.goto(await login.says(PAGE))
    await logIn(page)
    await page.getByRole('textbox', { name: 'Code' }).fill(code.toLowerCase())
    await page.screenshot({ path: '.cache/screenshots/authorize-code-light-1280.png' })
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect(page.getByText('Requested from')).toBeVisible()
    await page.getByRole('button', { name: 'Allow' }).click()
    await expect(page.getByText(/^Command line on .+ is signed in$/)).toBeVisible()
    expect(await login.code).toBe(0)

    const denied = line.run(['login', service.address], overSsh)
    const other = await denied.says(/code there: +([A-Z]{4}-[A-Z]{4})/)
    await page.goto(`${service.address}/ui/#/`)
    await expect(page.getByText(/is signed in$/)).toHaveCount(0)
    await page.goto(`${service.address}/ui/#/authorize`)
    await page.getByRole('textbox', { name: 'Code' }).fill(other)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Deny' }).click()
    await expect(page.getByText(/was not signed in$/)).toBeVisible()
    expect([await denied.code, denied.printed.error]).toEqual([4, expect.stringContaining('denied in the browser')])
    expect((await service.client.tokens.list()).tokens).toHaveLength(1)
  } finally {
    line.close()
  }
})

test('no other page can frame the approval page, and none can send the code elsewhere', async ({ page, serve }) => {
  const service = await serve({ localSlots: 0 })
  await page.goto(`${service.address}/ui/login`)
  await logIn(page)
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const query = (redirectUri: string) =>
    new URLSearchParams({
      client: 'cli',
      host: 'laptop',
      user: 'ann',
      state: 's',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
      redirect_uri: redirectUri
    })
  const right = `${service.address}/ui/#/authorize?${query('http://127.0.0.1:9/callback')}`
  await page.goto(`${service.address}/ui/#/authorize?${query('https://evil.example/callback')}`)
  await expect(page.getByText('This sign-in cannot be used')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Allow' })).toHaveCount(0)

  const framing = await page.context().newPage()
  await framing.route('http://evil.test/', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<iframe src="${right.replaceAll('&', '&amp;')}"></iframe>` })
  )
  await framing.goto('http://evil.test/')
  await expect(framing.frameLocator('iframe').getByRole('button', { name: 'Allow' })).toHaveCount(0)
  const stolen = await framing.evaluate(async (url) => {
    const to = { kind: 'code', userCode: 'BBBB-BBBB' }
    const sent = { method: 'POST', credentials: 'include', body: JSON.stringify({ to }) } as const
    return fetch(`${url}/api/v1/sign-ins`, sent).then(
      (answer) => answer.status,
      () => 'blocked'
    )
  }, service.address)
  expect(stolen).toBe('blocked')
})
