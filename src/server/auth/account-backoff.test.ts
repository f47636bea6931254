import { describe, expect, it } from 'vitest'
import { builtInRights } from '../../engine/testing/built-in-rights.ts'
import { basic, openTestApp, RIGHT } from '../testing/test-app.ts'

function openDoor() {
  const app = openTestApp()
  const ask = async (authorization: string, from: string) =>
    (await app.askAnonymously({ url: '/daemonstatus.json', remoteAddress: from, headers: { authorization } }))
      .statusCode
  let guesses = 0
  const guessFrom = (from: string, name = 'scrapdeck') => ask(basic(name, `guess ${(guesses += 1)}`), from)
  const attack = async (clients: number, name?: string) => {
    for (let client = 1; client <= clients; client++) await guessFrom(`198.51.100.${client}`, name)
  }
  return { ...app, ask, guessFrom, attack }
}

describe('guesses at one account from many addresses', () => {
  it('delay unknown clients, longer with each guess, up to half a minute', async () => {
    const { ask, attack, guessFrom, clock } = openDoor()
    await attack(5)
    expect(await ask(RIGHT, '203.0.113.1')).toBe(200)
    await guessFrom('198.51.100.6')
    expect([await guessFrom('198.51.100.7'), await ask(RIGHT, '203.0.113.2')]).toEqual([429, 429])
    for (let time = 0; time < 10; time++) {
      await clock.advanceBy(30_000)
      expect(await guessFrom(`198.51.101.${time}`)).toBe(401)
    }
    await clock.advanceBy(29_000)
    expect(await ask(RIGHT, '203.0.113.2')).toBe(429)
    await clock.advanceBy(1_000)
    expect(await ask(RIGHT, '203.0.113.2')).toBe(200)
  })

  it('never delay clients on this machine, or at an address where the account’s owner has logged in', async () => {
    const { ask, attack } = openDoor()
    expect(await ask(RIGHT, '203.0.113.1')).toBe(200)
    await attack(50)
    for (const from of ['127.0.0.1', '::1', '203.0.113.1']) expect([from, await ask(RIGHT, from)]).toEqual([from, 200])
    expect(await ask(RIGHT, '203.0.113.2')).toBe(429)
  })

  it('delay only that account, and no tokens', async () => {
    const { ask, attack, engine } = openDoor()
    const password = 'kestrel amber drawbridge'
    const { access } = engine
    const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password })
    const { secret } = await access.createToken(
      { userId: anna.id, name: 'anna', role: 'viewer', rights: builtInRights('viewer'), tokenId: null, sinceMs: 0 },
      { name: 'x', expiresInDays: null }
    )
    await attack(20)
    expect([
      await ask(basic('anna', password), '203.0.113.1'),
      await ask(basic('scrapdeck', secret), '203.0.113.1')
    ]).toEqual([200, 200])
  })

  it('do not include a program that still sends an old password', async () => {
    const { ask } = openDoor()
    for (let client = 1; client < 100; client++) await ask(basic('scrapdeck', 'the old one'), `198.51.100.${client}`)
    expect(await ask(RIGHT, '203.0.113.1')).toBe(200)
  })

  it('are forgotten after a quarter of an hour', async () => {
    const { ask, attack, guessFrom, clock } = openDoor()
    await attack(20)
    await clock.advanceBy(15 * 60_000)
    await guessFrom('198.51.100.1')
    expect(await ask(RIGHT, '203.0.113.1')).toBe(200)
  })
})
