import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { defaultConfigDirectory } from './default-directories.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, startEngine } from './testing/call.ts'

const PASSWORD = 'kestrel amber drawbridge'

/** Opens a service with the user anna and simulates her steps in the browser. */
async function open() {
  const { url, engine } = await startEngine()
  const home = makeDirectory()
  const file = join(
    defaultConfigDirectory({ platform: process.platform, environment: {}, homeDirectory: home }),
    'logins.json'
  )
  const anna = await engine.access.createUser({ name: 'anna', kind: 'person', role: 'operator', password: PASSWORD })
  const form = new URLSearchParams({ username: 'anna', password: PASSWORD })
  const loggedIn = await fetch(`${url}/ui/login`, { method: 'POST', body: form, redirect: 'manual' })
  const [cookie] = loggedIn.headers.get('set-cookie')!.split(';', 1) as [string]
  const approve = async (to: object): Promise<string | null> => {
    const headers = { cookie, 'content-type': 'application/json', origin: url }
    const body = JSON.stringify({ to, role: 'operator' })
    const answer = await fetch(`${url}/api/v1/sign-ins`, { method: 'POST', headers, body })
    return ((await answer.json()) as { code: string | null }).code
  }
  const browser = async (page: string, change: (query: URLSearchParams) => void = () => {}) => {
    const asked = new URLSearchParams(page.split('?')[1])
    const names = { client: asked.get('client'), host: asked.get('host'), user: asked.get('user') }
    const redirectUri = asked.get('redirect_uri')!
    const challenge = asked.get('code_challenge')
    const code = await approve({ kind: 'redirect', requester: names, redirectUri, challenge })
    const query = new URLSearchParams({ code: code!, state: asked.get('state')! })
    change(query)
    return fetch(`${redirectUri}?${query}`).then((answer) => answer.text())
  }
  const away = { password: '', environment: { SCRAPDECK_USERNAME: '' }, home }
  const run = (words: string[], more: Parameters<typeof call>[1] = {}) => call(words, { ...away, ...more })
  const tokens = () => engine.access.listTokens(OWNER)
  return { url, engine, anna, home, file, approve, browser, run, tokens }
}

it('signs in with the browser, and commands then use that login for that address only', async () => {
  const { url, browser, run, file, tokens } = await open()
  const pages: string[] = []
  const login = await run(['login', url], {
    openBrowser: async (page) => void browser(page).then((text) => pages.push(text))
  })
  expect([login.code, login.out]).toEqual([
    0,
    expect.stringContaining(`Logged in to ${url} as anna (operator), until `)
  ])
  expect(login.out).toContain(`No keychain can be used here, so the token is in ${file}, which only you can read.`)
  expect(login.error).toContain(`${url}/ui/#/authorize?`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await run(['jobs'], { url })).toMatchObject({ code: 0 })
  const who = await run(['whoami'], { url })
  expect(who.out).toMatch(/^anna \(operator\) at .+, by the password from "scrapdeck login", until /)
  // With no Scrapdeck on this machine, the command needs no address.
  expect((await run(['whoami'])).out).toBe(who.out)
  const status = await run(['login', 'status'])
  expect(status.out).toMatch(/anna +valid, operator/)
  const elsewhere = await run(['jobs'], { url: 'http://10.1.2.3' })
  expect([elsewhere.code, elsewhere.error]).toEqual([
    EXIT_CODES.unauthorized,
    expect.stringContaining('To log in with the browser: scrapdeck login http://10.1.2.3')
  ])
  expect(pages[0]).toContain('Signed in')
  expect(tokens()).toHaveLength(1)
})

it('a second login replaces the first, and logout revokes the token', async () => {
  const { url, browser, run, file, tokens } = await open()
  const openBrowser = async (page: string) => void browser(page)
  await run(['login', url], { openBrowser })
  await run(['login', url], { openBrowser })
  expect(tokens()).toHaveLength(1)
  const { logins } = JSON.parse(readFileSync(file, 'utf8')) as { logins: { token: string }[] }
  expect(logins).toHaveLength(1)
  const out = await run(['logout'])
  expect([out.code, out.out]).toEqual([0, `Logged out of ${url}. The token is revoked.\n`])
  expect(tokens()).toEqual([])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ logins: [] })
  expect(await run(['logout'])).toMatchObject({ code: EXIT_CODES.notFound })
})

it('without a browser, login shows a code that can be typed on another device', async () => {
  const { url, approve, run } = await open()
  let printed = ''
  let isTyped = false
  const login = run(['login', url], {
    onError: (text) => void (printed += text),
    // She enters the displayed code during the first wait.
    async sleep() {
      if (isTyped) return
      isTyped = true
      await approve({ kind: 'code', userCode: /[A-Z]{4}-[A-Z]{4}/.exec(printed)![0] })
    }
  })
  const { code, out } = await login
  expect([code, out]).toEqual([0, expect.stringContaining('as anna (operator)')])
  expect(printed).toContain(`Open this page in any browser:  ${url}/ui/#/authorize`)
})

it('a denied sign-in, a wrong state and an unexpected response all give no token', async () => {
  const { url, browser, run, tokens } = await open()
  const denied = await run(['login', url], {
    openBrowser: async (page) =>
      void browser(page, (query) => {
        query.delete('code')
        query.set('error', 'access_denied')
      })
  })
  expect([denied.code, denied.error]).toEqual([
    EXIT_CODES.unauthorized,
    expect.stringContaining('The sign-in was denied in the browser')
  ])
  let strange = ''
  const login = await run(['login', url], {
    openBrowser: async (page) => {
      // Another page that knows the port but not the state has no effect.
      strange = await browser(page, (query) => query.set('state', 'x'.repeat(22)))
      void browser(page)
    }
  })
  expect([login.code, strange]).toEqual([0, 'There is nothing here.\n'])
  expect(tokens()).toHaveLength(1)
})

it('keeps a token that was created elsewhere, once the engine has accepted it', async () => {
  const { url, run, engine, anna, home } = await open()
  const { secret } = await engine.access.createToken(OWNER, { name: 'x', userId: anna.id, expiresInDays: 30 })
  writeFileSync(join(home, 'token'), `${secret}\n`)
  const login = await run(['login', url, '--token-file', 'token', '--json'], { directory: home })
  expect(JSON.parse(login.out)).toMatchObject({ url, userName: 'anna', role: 'operator' })
  expect(await run(['jobs'], { url })).toMatchObject({ code: 0 })
  writeFileSync(join(home, 'token'), 'sdk_wrong\n')
  const wrong = await run(['login', url, '--token-file', 'token'], { directory: home })
  expect([wrong.code, wrong.error]).toEqual([EXIT_CODES.unauthorized, expect.stringContaining('refused the login')])
  expect(await run(['jobs'], { url })).toMatchObject({ code: 0 })
})

it('an expired login says how to log in again, and a file that others can read is not used', async () => {
  const { url, browser, run, file, engine, tokens } = await open()
  await run(['login', url], { openBrowser: async (page) => void browser(page) })
  await engine.access.revokeToken(OWNER, tokens()[0]!.id)
  expect(await run(['jobs'], { url })).toMatchObject({
    code: EXIT_CODES.unauthorized,
    error: expect.stringContaining(`it has expired or was revoked. Log in again: scrapdeck login ${url}`)
  })
  expect((await run(['login', 'status'])).out).toContain('refused: log in again')
  chmodSync(file, 0o644)
  expect(await run(['jobs'], { url })).toMatchObject({
    code: EXIT_CODES.unauthorized,
    error: expect.stringContaining(`Restrict it: chmod 600 ${file}`)
  })
})

it('reports an invalid address before it opens a browser', async () => {
  const { run } = await open()
  const pages: string[] = []
  const openBrowser = async (page: string) => void pages.push(page)
  expect(await run(['login'], { openBrowser })).toMatchObject({ code: EXIT_CODES.usage })
  expect(await run(['login', 'http://ann:x@127.0.0.1:2'], { openBrowser })).toMatchObject({ code: EXIT_CODES.usage })
  expect(await run(['login', 'http://127.0.0.1:2'], { openBrowser })).toMatchObject({ code: EXIT_CODES.unreachable })
  expect(pages).toEqual([])
})
