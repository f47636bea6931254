import { describe, expect, it } from 'vitest'
import { MemoryCache } from '../engine/cluster/cache/testing/memory-cache.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { perSecond } from './limits.ts'
import { createFakeEngine } from './testing/fake-engine.ts'
import { cookieOf, openTestApp } from './testing/test-app.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

function openTwo(options: Omit<NonNullable<Parameters<typeof openTestApp>[0]>, 'engine'> = {}) {
  const cacheClock = createFakeClock()
  const cache = new MemoryCache(cacheClock)
  const open = () => openTestApp({ ...options, engine: Object.assign(createFakeEngine(), { cache }) })
  const [one, other] = [open(), open()]
  const isValid = async (app: typeof one, cookie: string) =>
    (await app.askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode === 200
  const linkFrom = async (app: typeof one) => (await app.ask({ method: 'POST', url: '/ui/link' })).body
  const logIn = async (app: typeof one) => cookieOf(await app.askAnonymously({ url: app.createLoginPath() }))
  const logOut = (app: typeof one, cookie: string) =>
    app.askAnonymously({ method: 'POST', url: '/ui/logout', headers: { ...FORM, cookie } })
  /** An engine trusts a result of the cache for a second. */
  const passASecond = async () => {
    await one.clock.advanceBy(1_000)
    await other.clock.advanceBy(1_000)
  }
  const passADay = async () => {
    for (const clock of [one.clock, other.clock]) clock.jumpWallBy(24 * 3_600_000)
    await cacheClock.advanceBy(24 * 3_600_000)
    await passASecond()
  }
  return { cache, one, other, isValid, linkFrom, logIn, logOut, passADay, passASecond }
}

describe('a session on a shared cache', () => {
  it('works on the other engine, and ends there within a second when it ends here', async () => {
    const { one, other, isValid, logIn, logOut, passASecond } = openTwo()
    const cookie = await logIn(one)
    expect([await isValid(one, cookie), await isValid(other, cookie)]).toEqual([true, true])
    await logOut(other, cookie)
    expect(await isValid(other, cookie)).toBe(false)
    await passASecond()
    expect([await isValid(one, cookie), await isValid(other, cookie)]).toEqual([false, false])
  })

  it('ends after seven days without a request on any engine, and not before', async () => {
    const { one, other, isValid, logIn, passADay } = openTwo()
    const [used, idle] = [await logIn(one), await logIn(one)]
    for (let day = 0; day < 10; day++) {
      await passADay()
      expect(await isValid(day < 4 ? one : other, used)).toBe(true)
    }
    expect([await isValid(one, idle), await isValid(other, idle)]).toEqual([false, false])
    expect(await isValid(one, used)).toBe(true)
  })

  it('ends on all engines when all sessions are ended, and so do links', async () => {
    const { one, other, isValid, linkFrom, logIn, passASecond } = openTwo()
    const cookies = [await logIn(one), await logIn(other)]
    const link = await linkFrom(one)
    expect(await one.logOutEverywhere()).toBe(2)
    await passASecond()
    for (const cookie of cookies)
      expect([await isValid(one, cookie), await isValid(other, cookie)]).toEqual([false, false])
    expect((await other.askAnonymously({ url: link })).statusCode).toBe(403)
  })

  it('continues where it was used while the cache is away, and can start there', async () => {
    const { cache, one, other, isValid, logIn, passASecond } = openTwo()
    const before = await logIn(one)
    await isValid(other, before)
    cache.isAway = true
    await passASecond()
    const during = await logIn(one)
    expect([await isValid(one, before), await isValid(other, before)]).toEqual([true, true])
    expect([await isValid(one, during), await isValid(other, during)]).toEqual([true, false])
    cache.isAway = false
    await passASecond()
    expect(await isValid(one, during)).toBe(true)
    await passASecond()
    expect([await isValid(one, during), await isValid(other, during)]).toEqual([true, true])
  })

  it('that ended while the cache was away stays ended here, and ends elsewhere when it is back', async () => {
    const { cache, one, other, isValid, logIn, logOut, passASecond } = openTwo()
    const cookie = await logIn(one)
    const others = await logIn(other)
    await isValid(other, cookie)
    cache.isAway = true
    await passASecond()
    await logOut(one, cookie)
    expect(await isValid(one, cookie)).toBe(false)
    cache.isAway = false
    expect(await isValid(one, cookie)).toBe(false)
    await passASecond()
    await passASecond()
    expect([await isValid(one, cookie), await isValid(other, cookie)]).toEqual([false, false])
    expect(await isValid(one, others)).toBe(true)
  })

  it('is not restored by a response that was in flight when it ended', async () => {
    const { cache, one, isValid, logIn, logOut, passASecond } = openTwo()
    const cookie = await logIn(one)
    await passASecond()
    const held = Promise.withResolvers<void>()
    const haveSessions = cache.haveSessions.bind(cache)
    cache.haveSessions = async (hashes) => {
      const answer = await haveSessions(hashes)
      await held.promise
      return answer
    }
    const asked = isValid(one, cookie)
    cache.haveSessions = haveSessions
    const ended = one.logOutEverywhere()
    held.resolve()
    await Promise.all([asked, ended])
    expect(await isValid(one, cookie)).toBe(false)
    cache.isAway = true
    await passASecond()
    expect(await isValid(one, cookie)).toBe(false)
    await logOut(one, cookie)
  })

  it('is not looked up for an invalid token', async () => {
    const { cache, one, isValid } = openTwo()
    cache.haveSessions = () => Promise.reject(new Error('asked'))
    expect(await isValid(one, 'scrapdeck_session_6800=short')).toBe(false)
  })
})

describe('a login link with a shared cache', () => {
  it('works once, on any engine', async () => {
    const { one, other, linkFrom } = openTwo()
    const link = await linkFrom(one)
    const answers = await Promise.all([one, other, one].map((app) => app.askAnonymously({ url: link })))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 403, 403])
  })

  it('works once, on the engine that created it, while the cache is away', async () => {
    const { cache, one, other, linkFrom } = openTwo()
    cache.isAway = true
    const link = await linkFrom(one)
    cache.isAway = false
    const statuses: number[] = []
    for (const app of [other, one, other, one]) statuses.push((await app.askAnonymously({ url: link })).statusCode)
    expect(statuses).toEqual([403, 303, 403, 403])
  })
})

describe('limits with a shared cache', () => {
  it('count the requests of all engines together, and of one while the cache is away', async () => {
    const { cache, one, other } = openTwo({ rateLimits: { endpoints: perSecond(1) } })
    const ask = async (app: typeof one) => {
      const { statusCode, headers } = await app.ask({ url: '/daemonstatus.json' })
      return [statusCode, Number(headers['ratelimit-remaining'])]
    }
    expect([await ask(one), await ask(other), await ask(one), await ask(other)]).toEqual([
      [200, 3],
      [200, 2],
      [200, 1],
      [200, 0]
    ])
    expect((await one.ask({ url: '/daemonstatus.json' })).headers['retry-after']).toBe('1')
    cache.isAway = true
    expect([await ask(one), await ask(other)]).toEqual([
      [200, 3],
      [200, 3]
    ])
  })

  it('count requests to the API and unauthenticated ones in the same way', async () => {
    const { one, other } = openTwo({ rateLimits: { api: perSecond(1), open: perSecond(1) } })
    for (const app of [one, other, one, other]) {
      expect((await app.ask({ url: '/api/v1/jobs' })).statusCode).toBe(200)
      expect((await app.askAnonymously({ url: '/api/v1/jobs' })).statusCode).toBe(401)
    }
    expect((await one.ask({ url: '/api/v1/jobs' })).statusCode).toBe(429)
    const stranger = await other.askAnonymously({ url: '/api/v1/jobs' })
    expect([stranger.statusCode, stranger.headers['connection']]).toEqual([429, 'close'])
  })

  it('block a client that guesses passwords on several engines', async () => {
    const { one, other } = openTwo()
    const guess = async (app: typeof one) =>
      (await app.askAnonymously({ method: 'POST', url: '/ui/login', headers: FORM, payload: 'username=a&password=b' }))
        .statusCode
    const statuses: number[] = []
    for (let at = 0; at < 8; at += 1) statuses.push(await guess(one), await guess(other))
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(12)
    expect(statuses.at(-1)).toBe(429)
  })
})
