import { once } from 'node:events'
import http from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clientOf } from './auth/client-address.ts'
import { basic, openTestApp, openTestService, RIGHT } from './testing/test-app.ts'

function openDoors(options: Parameters<typeof openTestApp>[0] = {}) {
  const app = openTestApp(options)
  const { askAnonymously } = app
  /** Sends a request like a program at this address, or behind a proxy at this address. */
  const program = async (
    authorization: string,
    { from = '192.0.2.1', forwardedFor }: { from?: string; forwardedFor?: string } = {}
  ) => {
    const headers = { authorization, ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }) }
    return (await askAnonymously({ url: '/daemonstatus.json', remoteAddress: from, headers })).statusCode
  }
  const guess = async (count: number, where?: Parameters<typeof program>[1]) => {
    for (let time = 0; time < count; time++) await program(basic('scrapdeck', `guess ${time}`), where)
  }
  const form = async (password: string, from = '192.0.2.1') =>
    (
      await askAnonymously({
        method: 'POST',
        url: '/ui/login',
        remoteAddress: from,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `username=scrapdeck&password=${encodeURIComponent(password)}`
      })
    ).statusCode
  return { ...app, program, guess, form }
}

describe('wrong passwords', () => {
  it('block an unknown client after 300 a minute with Basic, for the rest of the minute', async () => {
    const { program, guess, clock, ask } = openDoors()
    await guess(300)
    expect(await program(RIGHT)).toBe(429)
    expect(await program(RIGHT, { from: '192.0.2.2' })).toBe(200)
    await clock.advanceBy(15_000)
    const refused = await ask({ url: '/api/v1/nodes', remoteAddress: '192.0.2.1' })
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '45'])
    await clock.advanceBy(45_001)
    expect(await program(RIGHT)).toBe(200)
  })

  it('block it after ten a minute in the form', async () => {
    const { form, clock } = openDoors()
    for (let time = 0; time < 10; time++) expect(await form('wrong')).toBe(401)
    expect(await form('correct horse: battery')).toBe(429)
    await clock.advanceBy(60_001)
    expect(await form('correct horse: battery')).toBe(303)
  })

  it('do not lock out a client that logged in within the last day, however many there are', async () => {
    const { program, guess, form, clock } = openDoors()
    expect(await program(RIGHT)).toBe(200)
    await guess(1_000)
    for (let time = 0; time < 20; time++) await form('wrong')
    expect([await program(RIGHT), await form('correct horse: battery')]).toEqual([200, 303])
    expect(await program(basic('scrapdeck', 'wrong'))).toBe(429)
    await clock.advanceBy(25 * 3_600_000)
    await guess(300)
    expect(await program(RIGHT)).toBe(429)
  })

  it('count per IPv6 network of 64 bits, which belongs to one customer', async () => {
    const { program, guess } = openDoors()
    await guess(300, { from: '2001:db8:1:2::a' })
    expect(await program(RIGHT, { from: '2001:db8:1:2:3:4:5:6' })).toBe(429)
    expect(await program(RIGHT, { from: '2001:db8:1:3::a' })).toBe(200)
    expect(['2001:0DB8::1', '::1', '2001:db8:0:0:1::', '::ffff:192.0.2.1', '1:2:3:4:5:6:7:8'].map(clientOf)).toEqual([
      '2001:db8:0:0::/64',
      '0:0:0:0::/64',
      '2001:db8:0:0::/64',
      '0:0:0:0::/64',
      '1:2:3:4::/64'
    ])
  })
})

describe('a proxy', () => {
  it('that is trusted names the client, so that one guesser does not lock out the others', async () => {
    const { program, guess } = openDoors({ trustedProxies: ['192.0.2.1', '10.0.0.0/8'] })
    await guess(300, { forwardedFor: '203.0.113.9' })
    expect(await program(RIGHT, { forwardedFor: '203.0.113.9' })).toBe(429)
    expect(await program(RIGHT, { forwardedFor: '203.0.113.10' })).toBe(200)
    // Only the address that the outermost trusted proxy saw counts. A client can claim any address before it.
    expect(await program(RIGHT, { forwardedFor: '203.0.113.10, 203.0.113.9' })).toBe(429)
    expect(await program(RIGHT, { forwardedFor: '203.0.113.9, 10.1.2.3' })).toBe(429)
    expect(await program(RIGHT, { forwardedFor: '203.0.113.9:50123' })).toBe(429)
    for (const mapped of ['::ffff:203.0.113.9', '::ffff:cb00:7109', '0:0:0:0:0:FFFF:CB00:7109', '::0:ffff:cb00:7109'])
      expect([mapped, await program(RIGHT, { forwardedFor: mapped })]).toEqual([mapped, 429])
    expect(await program(RIGHT, { forwardedFor: '::fffe:cb00:7109' })).toBe(200)
  })

  it('that is not trusted cannot name a client', async () => {
    const { program, guess } = openDoors({ trustedProxies: ['10.0.0.0/8'] })
    for (let time = 0; time < 300; time++) await guess(1, { forwardedFor: `203.0.113.${time % 250}` })
    expect(await program(RIGHT, { forwardedFor: '203.0.113.251' })).toBe(429)
    expect(await program(RIGHT, { from: '192.0.2.2', forwardedFor: 'x'.repeat(5_000) })).toBe(200)
  })
})

describe('failed logins in the log', () => {
  it('have the address and a harmless user name, never the password', async () => {
    const { program, form, logged } = openDoors()
    await program(basic('eve\n\u001b[2Jroot\u202e', 'hunter2'))
    await program(basic('x'.repeat(500), 'hunter2'))
    await form('hunter2', '192.0.2.7')
    expect(logged).toEqual([
      'Login failed: wrong user name or password {"address":"192.0.2.1","username":"eve??[2Jroot?"}',
      `Login failed: wrong user name or password {"address":"192.0.2.1","username":"${'x'.repeat(64)}…"}`,
      'Login failed: wrong user name or password {"address":"192.0.2.7","username":"scrapdeck"}'
    ])
  })

  it('are few: five lines a minute for an address, sixty in all, then only their number', async () => {
    const { guess, clock, logged } = openDoors()
    await guess(100)
    expect(logged).toHaveLength(5)
    for (let host = 2; host < 40; host++) await guess(2, { from: `192.0.2.${host}` })
    expect(logged).toHaveLength(60)
    await clock.advanceBy(60_000)
    expect(logged.at(-1)).toBe('More logins failed in the last minute than were logged {"count":116}')
    await guess(1)
    expect(logged).toHaveLength(62)
    await guess(400)
    expect(logged.slice(66)).toEqual([
      'Too many failed logins: this address is blocked for the rest of the minute {"address":"192.0.2.1"}'
    ])
  })
})

it('each request of a connection is checked with its own credentials, whichever user was accepted before', async () => {
  const { port } = await openTestService({})
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const ask = async (authorization: string | null) => {
    const headers = authorization === null ? {} : { authorization }
    const request = http.get({ host: '127.0.0.1', port, path: '/daemonstatus.json', agent, headers })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'end')
    return [response.statusCode, request.reusedSocket]
  }
  expect(await ask(RIGHT)).toEqual([200, false])
  expect(await ask(RIGHT)).toEqual([200, true])
  expect(await ask(basic('scrapdeck', 'wrong'))).toEqual([401, true])
  expect(await ask(null)).toEqual([401, true])
  expect(await ask(RIGHT)).toEqual([200, true])
})
