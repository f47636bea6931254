import { describe, expect, it } from 'vitest'
import { ScrapdeckError } from '../shared/errors.ts'
import { branded } from '../shared/testing/ids.ts'
import { type GroupRights, NO_SIGN_IN } from './auth/sign-in-options.ts'
import { createFakeEngine } from './testing/fake-engine.ts'
import { basic, cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const PASSWORD = 'violet anchor 12 kettles'
const pluginRoles = new Map<string, GroupRights>([
  ['staff', { role: 'operator', projects: {}, nodeGroups: {} }],
  ['admins', { role: 'owner', projects: {}, nodeGroups: {} }]
])

function openWithPlugin(people: Record<string, { password: string; groups: string[] }>) {
  const asked: string[] = []
  const state = { isDown: false, people }
  const engine = {
    ...createFakeEngine(),
    async authenticate({ username, password }: { username: string; password: string }) {
      asked.push(username)
      if (state.isDown) throw new ScrapdeckError('SIGN_IN_UNAVAILABLE', 'The plugin ldap could not check the password.')
      const person = state.people[username]
      if (person?.password !== password) return null
      return { subject: `plugin ldap ${username}`, name: username, groups: person.groups }
    }
  }
  const app = openTestApp({ engine, signIn: { ...NO_SIGN_IN, pluginRoles } })
  const me = async (username: string, password: string, remoteAddress = '192.0.2.7') => {
    const headers = { authorization: basic(username, password) }
    const answer = await app.askAnonymously({ url: '/api/v1/users/me', remoteAddress, headers })
    return answer.statusCode === 200 ? (answer.json() as { name: string; role: string }) : answer.statusCode
  }
  const logIn = (username: string, password: string) =>
    app.askAnonymously({
      url: '/ui/login',
      method: 'POST',
      remoteAddress: '192.0.2.7',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ username, password }).toString()
    })
  return { ...app, asked, state, me, logIn }
}

const anna = { password: PASSWORD, groups: ['staff', 'book club'] }

describe('a user whose password a plugin checks', () => {
  it('has the roles that plugin_roles gives the groups, and is an external user', async () => {
    const { me, engine } = openWithPlugin({ anna, eve: { password: PASSWORD, groups: ['book club', 'owner'] } })
    expect(await me('anna', PASSWORD)).toMatchObject({ name: 'anna', role: 'operator' })
    expect(await me('eve', PASSWORD)).toBe(403)
    expect(engine.access.listUsers()).toMatchObject([{ name: 'anna', origin: 'plugin', hasPassword: false }])
    const signIn = { name: 'anna', subject: 'plugin ldap anna', role: 'operator', projects: {}, nodeGroups: {} }
    expect(
      engine.audited.map(({ who, operation, input, code }) => [who.name, operation, JSON.parse(input), code])
    ).toEqual([
      ['anna', 'users.signIn', signIn, null],
      ['eve', 'GET /api/v1/…', { path: '/api/v1/users/me' }, 'ROLE_REQUIRED']
    ])
  })

  it('can log in by a local group alone, once the user is known', async () => {
    const { me, state, engine, clock } = openWithPlugin({ anna })
    await me('anna', PASSWORD)
    const members = engine.access.listUsers().map(({ id }) => id)
    const { id } = await engine.access.groups.create({
      name: 'On call',
      role: null,
      projects: branded({ shop: 'viewer' })
    })
    await engine.access.groups.update(id, { addMembers: members })
    state.people = { anna: { ...anna, groups: [] } }
    await clock.advanceBy(121_000)
    expect(await me('anna', PASSWORD)).toMatchObject({ everywhere: null, projects: { shop: 'viewer' } })
  })

  it('is checked by the plugin once a minute, whether the password is right or wrong', async () => {
    const { me, asked, clock } = openWithPlugin({ anna })
    for (let times = 0; times < 3; times += 1) await me('anna', PASSWORD)
    for (let times = 0; times < 3; times += 1) expect(await me('anna', 'old password')).toBe(401)
    expect(asked).toEqual(['anna', 'anna'])
    await clock.advanceBy(60_000)
    await me('anna', PASSWORD)
    await me('anna', 'old password')
    expect(asked).toHaveLength(4)
  })

  it('loses the role and the sessions when its groups no longer have a role', async () => {
    const { me, state, logIn, askAnonymously, clock } = openWithPlugin({ anna })
    const cookie = cookieOf(await logIn('anna', PASSWORD))
    const inSession = async () => (await askAnonymously({ url: '/api/v1/users/me', headers: { cookie } })).statusCode
    expect(await inSession()).toBe(200)
    state.people = { anna: { ...anna, groups: [] } }
    await clock.advanceBy(121_000)
    expect(await me('anna', PASSWORD)).toBe(403)
    expect(await inSession()).toBe(401)
  })

  it('has a session that ends after twelve hours, however much it is used', async () => {
    const { logIn, askAnonymously, clock } = openWithPlugin({ anna })
    const answer = await logIn('anna', PASSWORD)
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/ui/'])
    const inSession = async () =>
      (await askAnonymously({ url: '/api/v1/users/me', headers: { cookie: cookieOf(answer) } })).statusCode
    for (let hours = 0; hours < 11; hours += 1) {
      await clock.advanceBy(3_600_000)
      expect(await inSession()).toBe(200)
    }
    await clock.advanceBy(3_600_000)
    expect(await inSession()).toBe(401)
  })

  it('is refused, also in the form, if an owner has disabled the user', async () => {
    const { me, logIn, engine, clock } = openWithPlugin({ anna })
    await me('anna', PASSWORD)
    const [user] = engine.access.listUsers()
    await engine.access.updateUser(user!.id, { enabled: false })
    await clock.advanceBy(61_000)
    expect(await me('anna', PASSWORD)).toBe(401)
    const answer = await logIn('anna', PASSWORD)
    expect([answer.statusCode, answer.body.includes('is disabled')]).toEqual([401, true])
  })
})

describe('a plugin that checks passwords', () => {
  it('is not called for the owner, local users, service accounts and tokens, and cannot impersonate them', async () => {
    const all = ['scrapdeck', 'Scrapdeck', 'local', 'LOCAL', 'ci', ''].map((name) => [
      name,
      { ...anna, groups: ['admins'] }
    ])
    const { me, engine, asked, ask } = openWithPlugin(Object.fromEntries(all))
    const { access } = engine
    const user = await access.createUser({
      name: 'local',
      kind: 'person',
      role: 'viewer',
      password: 'quiet 7 harbour lanterns'
    })
    await access.createUser({ name: 'ci', kind: 'service', role: 'viewer' })
    for (const [name] of all) expect(await me(String(name), PASSWORD)).toBe(401)
    expect(await me('anna', `sdk_${'a'.repeat(43)}`)).toBe(401)
    expect(await me('local', 'quiet 7 harbour lanterns')).toMatchObject({ role: 'viewer' })
    await access.updateUser(user.id, { enabled: false })
    expect(await me('local', PASSWORD)).toBe(401)
    expect((await ask({ url: '/api/v1/users/me', headers: { authorization: RIGHT } })).statusCode).toBe(200)
    expect(asked).toEqual([])
  })

  it('that returns the name of a local user creates another user of that name', async () => {
    const engine = {
      ...createFakeEngine(),
      authenticate: async () => ({ subject: 'plugin ldap x', name: 'scrapdeck', groups: ['staff'] })
    }
    const app = openTestApp({ engine, signIn: { ...NO_SIGN_IN, pluginRoles } })
    const answer = await app.askAnonymously({
      url: '/api/v1/users/me',
      headers: { authorization: basic('x', PASSWORD) }
    })
    expect(answer.json()).toMatchObject({ name: 'scrapdeck-2', role: 'operator' })
  })

  it('counts wrong passwords as failed logins, and is not called for an address with too many', async () => {
    const { logIn, asked, logged } = openWithPlugin({ anna })
    for (let times = 0; times < 10; times += 1) expect((await logIn('anna', `wrong ${times}`)).statusCode).toBe(401)
    expect((await logIn('anna', PASSWORD)).statusCode).toBe(429)
    expect(asked).toHaveLength(10)
    expect(logged.join('\n')).toContain('Login failed')
  })

  it('that is down refuses logins with a code, which counts like a wrong password, and never locks out the owner', async () => {
    const { logIn, ask, askAnonymously, state, logged } = openWithPlugin({ anna })
    state.isDown = true
    const headers = { authorization: basic('anna', PASSWORD) }
    const answer = await askAnonymously({ url: '/api/v1/users/me', remoteAddress: '192.0.2.8', headers })
    expect([answer.statusCode, answer.json()]).toMatchObject([503, { code: 'SIGN_IN_UNAVAILABLE' }])
    const form = await logIn('anna', PASSWORD)
    expect([form.statusCode, form.body.includes('could not check the password')]).toEqual([503, true])
    for (let times = 0; times < 9; times += 1) await logIn('anna', `wrong ${times}`)
    state.isDown = false
    expect((await logIn('anna', PASSWORD)).statusCode).toBe(429)
    expect((await ask({ url: '/api/v1/users/me' })).statusCode).toBe(200)
    expect(logged.join('\n')).not.toContain(PASSWORD)
  })
})
