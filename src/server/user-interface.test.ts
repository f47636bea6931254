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

  it('says what to do when the UI is not built', async () => {
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
