import { describe, expect, it } from 'vitest'
import { cookieOf, openTestApp } from './testing/test-app.ts'

/** What a browser sends for a link on a page of another site. */
const FOLLOWED = {
  accept: 'text/html,*/*',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document'
}

async function openLoggedIn() {
  const app = openTestApp()
  app.engine.files.items.set('shop/quotes/a-1.jl', Buffer.from('{}'))
  app.engine.files.logs.set('shop/quotes/a-1.log', Buffer.from('log'))
  const cookie = cookieOf(await app.askAnonymously({ url: app.createLoginPath() }))
  const follow = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'POST' = 'GET') =>
    app.askAnonymously({ method, url, headers: { ...FOLLOWED, cookie, ...headers } })
  return { ...app, cookie, follow }
}

describe('a link on another page', () => {
  it.each([
    '/ui/',
    '/docs',
    '/docs/security',
    '/api',
    '/jobs',
    '/logs/',
    '/logs/shop/quotes/a-1.log',
    '/items/',
    '/items/shop/quotes/a-1.jl',
    '/listprojects.json',
    '/daemonstatus.json'
  ])('opens %s, with the session of the browser', async (url) => {
    const { follow } = await openLoggedIn()
    expect((await follow(url)).statusCode).toBe(200)
    expect((await follow(url, { 'sec-fetch-site': 'same-site' })).statusCode).toBe(200)
  })

  it('opens the login page without a session', async () => {
    const { follow } = await openLoggedIn()
    expect((await follow('/ui/', { cookie: '' })).headers.location).toBe('/ui/login')
    expect((await follow('/ui/login', { cookie: '' })).body).toContain('<form method="post">')
    const refused = await follow('/jobs', { cookie: '' })
    expect([refused.statusCode, refused.headers['www-authenticate']]).toEqual([401, 'basic realm="Scrapyd"'])
    expect(refused.body).toContain('href="/ui/login"')
  })

  it('to a forbidden host name says so in its heading', async () => {
    const { follow } = await openLoggedIn()
    const refused = await follow('/jobs', { host: 'evil.example:6800' })
    expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining('<h1>Unknown host name</h1>')])
    expect(refused.body).toContain('--allowed-host evil.example:6800')
  })

  it.each([
    ['a fetch', '/jobs', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['a frame', '/jobs', { 'sec-fetch-dest': 'iframe' }],
    ['an image', '/jobs', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a page of another origin', '/jobs', { origin: 'https://evil.example' }],
    ['a name that was pointed at this machine', '/jobs', { host: 'evil.example:6800' }],
    ['the API', '/api/v1/nodes', {}],
    ['the API of the UI', '/api/rpc/nodes/list?data=%7B%7D', {}],
    ['what changes something', '/schedule.json?project=shop&spider=quotes', {}],
    ['an unknown path', '/nothing', {}]
  ])('does not work for %s', async (_what, url, headers) => {
    const { follow } = await openLoggedIn()
    expect((await follow(url, headers)).statusCode).toBe(403)
  })

  it.each(['/ui/link', '/ui/logout', '/schedule.json', '/api/v1/jobs', '/ui/'])(
    'does not work as a form: POST %s',
    async (url) => {
      const { follow } = await openLoggedIn()
      expect((await follow(url, {}, 'POST')).statusCode).toBe(403)
    }
  )

  it('does not use up a login link: that takes a click on our own page', async () => {
    const { follow, askAnonymously, createLoginPath } = await openLoggedIn()
    const path = createLoginPath()
    const page = await follow(path, { cookie: '' })
    expect([page.statusCode, page.headers['set-cookie']]).toEqual([403, undefined])
    expect(page.body).toContain(`<a class="button" href="${path}">Continue</a>`)
    const clicked = { ...FOLLOWED, 'sec-fetch-site': 'same-origin' }
    expect((await askAnonymously({ url: path, headers: clicked })).headers['set-cookie']).toBeDefined()
  })
})

describe('a refused navigation', () => {
  it('is a page that says what happened and what to do', async () => {
    const { follow } = await openLoggedIn()
    const link = await follow('//evil.example/"><script>')
    expect(link.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(link.body).toContain('Opened from another web page')
    expect(link.body).toContain('href="/evil.example/%22%3E%3Cscript%3E"')
    const host = await follow('/ui/', { host: 'evil.example:6800' })
    expect(host.body).toContain('start Scrapdeck with --allowed-host evil.example:6800')
    expect(host.body).not.toContain('Continue')
    const form = await follow('/schedule.json', { origin: 'https://evil.example' }, 'POST')
    expect(form.body).toContain('does not accept requests from web pages of https://evil.example')
    expect(form.headers['content-security-policy']).toContain("default-src 'none'; style-src 'sha256-")
  })

  it('stays JSON for programs', async () => {
    const { ask } = await openLoggedIn()
    expect((await ask({ url: '/jobs', headers: { origin: 'https://evil.example' } })).json().status).toBe('error')
    expect((await ask({ url: '/api/v1/nodes', headers: { 'sec-fetch-site': 'cross-site' } })).json().code).toBe(
      'FORBIDDEN_ORIGIN'
    )
  })
})

describe('a response that requires a login', () => {
  it.each(['/jobs', '/logs/', '/logs/shop/quotes/a-1.log', '/items/', '/', '/listprojects.json', '/api', '/ui/login'])(
    'is not stored by any cache: %s',
    async (url) => {
      const { ask, engine } = openTestApp()
      engine.files.logs.set('shop/quotes/a-1.log', Buffer.from('log'))
      expect((await ask({ url })).headers['cache-control']).toMatch(/^no-(store|cache)$/)
    }
  )
})
