import { describe, expect, it } from 'vitest'
import { systemClock } from '../engine/runtime/clock.ts'
import type { OidcOptions } from './auth/sign-in-options.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { openTestService } from './testing/test-app.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, openIdentityProvider } from './testing/identity-provider.ts'
import { freePort } from '../engine/testing/server-process.ts'

const ANNA = { sub: 'anna-7', name: 'anna', groups: ['crawlers', 'everybody'] }
const BEN = { sub: 'ben-8', name: 'ben', groups: ['everybody'] }

async function openWithProvider(changes: Partial<OidcOptions> = {}) {
  const port = await freePort()
  const deck = `http://127.0.0.1:${port}`
  const provider = await openIdentityProvider({
    people: [{ ...ANNA }, { ...BEN }],
    redirectUris: [`${deck}/ui/login/oidc/callback`]
  })
  const oidc: OidcOptions = {
    ...{ issuer: provider.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, label: 'Example ID' },
    ...{ scopes: 'openid profile groups', nameClaim: 'preferred_username', groupsClaim: 'groups' },
    roles: new Map([
      ['crawlers', 'operator'],
      ['admins', 'owner']
    ]),
    sessionMs: 12 * 3_600_000,
    ...changes
  }
  const { engine, service } = await openTestService({ port, clock: systemClock, signIn: { ...NO_SIGN_IN, oidc } })
  const browser = new Browser()
  const begin = async (by = browser, page = '') => (await by.go(`${deck}/ui/login/oidc${page}`)).location
  const signIn = async (person: string, by = browser, page = '') => {
    const back = await by.signInAt(await begin(by, page), person, provider.issuer)
    return { back, answer: await by.go(back) }
  }
  const me = async (by = browser) => {
    const { status, body } = await by.go(`${deck}/api/v1/users/me`)
    return status === 200 ? (JSON.parse(body) as { name: string; role: string; userId: string }) : status
  }
  return { deck, provider, engine, service, browser, begin, signIn, me }
}

describe('signing in with OIDC', () => {
  it('leads from the login page through the provider to the page that was wanted, with the role of the group', async () => {
    const { deck, browser, signIn, me, engine } = await openWithProvider()
    const page = await browser.go(`${deck}/ui/login`)
    expect(page.body).toContain('<a class="button" href="/ui/login/oidc">Sign in with Example ID</a>')
    const { answer } = await signIn('anna-7', browser, `?page=${encodeURIComponent('#/jobs?state=failed')}`)
    expect([answer.status, answer.location]).toEqual([303, `${deck}/ui/#/jobs?state=failed`])
    expect(await me()).toMatchObject({ name: 'anna', role: 'operator' })
    expect(engine.access.listUsers()).toMatchObject([{ name: 'anna', origin: 'oidc', hasPassword: false }])
  })
})
