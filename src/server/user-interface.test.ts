import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { loginPage } from './auth/login-page.ts'
import { SMALL_PAGE_POLICY } from './small-page.ts'
import { openTestApp } from './testing/test-app.ts'

describe('/ui/', () => {
  it('revalidates the page and caches hashed assets forever', async () => {
    const { ask } = openTestApp()
    const page = await ask({ url: '/ui/' })
    expect([page.statusCode, page.headers['cache-control']]).toEqual([200, 'no-cache'])
    expect(page.headers['content-security-policy']).toContain("script-src 'self';")
    const asset = await ask({ url: '/ui/assets/index-a1b2c3.js' })
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(asset.headers['content-type']).toContain('javascript')
  })

  it('sends the compressed copy if the browser accepts it, and the file itself otherwise', async () => {
    const { ask, uiDirectory } = openTestApp()
    const file = join(uiDirectory, 'assets', 'index-a1b2c3.js')
    writeFileSync(`${file}.br`, 'as br')
    writeFileSync(`${file}.gz`, 'as gzip')
    const fetched = async (accepted: string, url = '/ui/assets/index-a1b2c3.js') => {
      const { body, headers } = await ask({ url, headers: { 'accept-encoding': accepted } })
      return [body, headers['content-encoding'], headers['content-type'], headers['vary']]
    }
    const type = 'text/javascript; charset=utf-8'
    expect(await fetched('gzip, deflate, br, zstd')).toEqual(['as br', 'br', type, 'accept-encoding'])
    expect(await fetched('gzip;q=0.5, br;q=0')).toEqual(['as gzip', 'gzip', type, 'accept-encoding'])
    for (const accepted of ['', 'identity', 'zstd'])
      expect((await fetched(accepted)).slice(0, 2)).toEqual(['export {}', undefined])
    writeFileSync(join(uiDirectory, 'assets', 'new-b1b2c3.js'), 'export {}')
    expect((await fetched('br', '/ui/assets/new-b1b2c3.js')).slice(0, 2)).toEqual(['export {}', undefined])
    expect((await fetched('br', '/ui/assets/..%2findex.html')).slice(1, 2)).toEqual([undefined])
  })

  it('mistyped paths redirect to the page; missing files are 404', async () => {
    const { ask } = openTestApp()
    expect((await ask({ url: '/ui/jobs/019b' })).headers.location).toBe('/ui/')
    expect((await ask({ url: '/ui/assets/gone-123.js' })).statusCode).toBe(404)
    expect((await ask({ url: '/ui' })).headers.location).toBe('/ui/')
  })

  it.each(['/ui/%2e%2e/%2e%2e/etc/passwd', '/ui/..%2f..%2fetc%2fpasswd', '/ui/%00.js'])(
    '%s does not leave the directory',
    async (url) => {
      const response = await openTestApp().ask({ url })
      expect(response.body).not.toContain('root:')
    }
  )

  it('says what to do if the UI is not built', async () => {
    const { engine, dataDirectory, clock } = openTestApp()
    const app = createApp({
      engine,
      dataDirectory,
      uiDirectory: `${dataDirectory}/none`,
      docsDirectory: dataDirectory,
      bindAddress: '127.0.0.1',
      port: () => 6800,
      allowedHosts: [],
      clock,
      logger: { debug() {}, info() {}, warn() {}, error() {} }
    })
    const login = await app.fastify.inject({ url: app.createLoginPath(), headers: { host: 'localhost:6800' } })
    const cookie = String(login.headers['set-cookie']).split(';', 1)[0] as string
    const response = await app.fastify.inject({ url: '/ui/', headers: { host: 'localhost:6800', cookie } })
    expect([response.statusCode, response.body]).toEqual([503, expect.stringContaining('npm run build')])
    await app.fastify.close()
  })
})

describe('the login page', () => {
  it('shows a problem as text only', () => {
    expect(loginPage({ problem: '<script>alert(1)</script>', signInWith: null, passkeys: null })).not.toContain(
      '<script>'
    )
  })

  it('allows only its own style sheet', async () => {
    const style = /<style>([^]*)<\/style>/.exec(
      loginPage({ problem: null, signInWith: null, passkeys: null })
    )?.[1] as string
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(style))).toString('base64')
    expect(SMALL_PAGE_POLICY).toContain(`style-src 'sha256-${hash}'`)
    expect(SMALL_PAGE_POLICY).not.toContain('script')
  })
})
