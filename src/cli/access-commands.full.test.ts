import { Secret, TOTP } from 'otpauth'
import { expect, it } from 'vitest'
import { basic } from '../server/testing/test-app.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, openEngine } from './testing/call.ts'

const PASSWORD = 'kestrel amber drawbridge'

it('adds a user whose password comes from a file, and the user may do what the role allows', async () => {
  const { run, url } = await openEngine({ password: `${PASSWORD}\n` })
  expect((await run('users')).out).toMatch(/^No users besides the owner of this machine/)
  expect((await run('users', 'add', 'anna', '--role', 'operator', '--new-password-file', 'password')).out).toBe(
    'Added anna, operator\n'
  )
  const asAnna = { url, password: PASSWORD, environment: { SCRAPDECK_USERNAME: 'anna' } }
  expect((await call(['users', 'me'], asAnna)).out).toBe('anna, operator\n')
  const refused = await call(['export'], asAnna)
  expect([refused.code, refused.error]).toEqual([
    EXIT_CODES.unauthorized,
    expect.stringContaining(
      'needs the permission "use the fleet file", which the role admin has. anna has the role operator'
    )
  ])
  expect((await run('users')).out).toMatch(
    /^NAME +KIND +ROLE +SECOND FACTOR +STATE +LAST SEEN +ID\nanna +person +operator +none +enabled +/
  )
  expect((await run('users', 'set', 'Anna', '--role', 'viewer', '--disable')).out).toBe('anna: viewer, disabled\n')
  expect((await call(['users', 'me'], asAnna)).code).toBe(EXIT_CODES.unauthorized)
  expect((await run('users', 'set', 'anna')).code).toBe(EXIT_CODES.usage)
  const rights = ['--role', 'none', '--project', 'shop=operator', '--project', 'a=b=viewer']
  expect((await run('users', 'set', 'anna', '--enable', ...rights)).out).toBe(
    'anna: operator in shop, viewer in a=b, enabled\n'
  )
  expect((await call(['users', 'me'], asAnna)).out).toBe('anna, operator in shop, viewer in a=b\n')
  expect((await run('users', 'set', 'anna', '--project', 'shop')).error).toContain('PROJECT=ROLE')
  expect((await run('users', 'set', 'anna', '--project', 'shop=admin')).error).toContain(
    'so it cannot be assigned in individual projects such as shop'
  )
  expect((await run('users', 'set', 'anna', '--role', 'viewer', '--project', '')).out).toBe('anna: viewer, enabled\n')
  expect((await run('users', 'remove', 'anna')).out).toBe('Removed anna\n')
  const gone = await run('users', 'remove', 'anna')
  expect([gone.code, gone.error]).toEqual([
    EXIT_CODES.notFound,
    expect.stringContaining('There is no user anna. There are none.')
  ])
})

it('says what still lets the user in after a new password, and revokes the tokens on request', async () => {
  const { run, url } = await openEngine({ password: `${PASSWORD}\n`, other: 'lantern osprey cobblestone\n' })
  await run('users', 'add', 'anna', '--role', 'viewer', '--new-password-file', 'password')
  const { out } = await run('tokens', 'add', 'GitLab', '--user', 'anna')
  await run('tokens', 'add', 'of-the-owner')
  const asAnna = { url, password: /^sdk_\S+/.exec(out)![0] }
  expect((await run('users', 'set', 'anna', '--new-password-file', 'other')).out).toBe(
    'anna: viewer, enabled, all sessions ended\n1 token still works: --revoke-tokens revokes it.\n'
  )
  expect((await call(['users', 'me'], asAnna)).out).toBe('anna, viewer\n')
  const reset = ['--new-password-file', 'password', '--no-second-factor', '--revoke-tokens']
  expect((await run('users', 'set', 'anna', ...reset)).out).toBe(
    'anna: viewer, enabled, no second factor, all sessions ended, 1 token revoked\n'
  )
  expect((await call(['users', 'me'], asAnna)).code).toBe(EXIT_CODES.unauthorized)
  expect((await run('users', 'set', 'anna', '--revoke-tokens')).out).toBe('anna: viewer, enabled, 0 tokens revoked\n')
  expect((await run('tokens')).out).toContain('of-the-owner')
})

it('turns off the second factor of a user who has lost it; the password is then enough', async () => {
  const { run, url, engine } = await openEngine({ password: `${PASSWORD}\n` })
  await run('users', 'add', 'anna', '--role', 'viewer', '--new-password-file', 'password')
  const asAnna = { url, password: PASSWORD, environment: { SCRAPDECK_USERNAME: 'anna' } }
  const post = async (path: string, body: object) => {
    const headers = { authorization: basic('anna', PASSWORD), 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(`${url}/api/v1/users/me/${path}`, request)).json()) as Record<string, string>
  }
  const { secret = '' } = await post('authenticator', { current: PASSWORD })
  await post('authenticator/confirm', {
    code: new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: engine.clock.nowMs() })
  })
  expect((await run('users')).out).toMatch(/\nanna +person +viewer +app +enabled +/)
  const refused = await call(['users', 'me'], asAnna)
  expect([refused.code, refused.error]).toEqual([EXIT_CODES.unauthorized, expect.stringContaining('Send a token')])
  expect((await run('users', 'set', 'anna', '--no-second-factor')).out).toBe(
    'anna: viewer, enabled, no second factor, all sessions ended\n'
  )
  expect((await call(['users', 'me'], asAnna)).out).toBe('anna, viewer\n')
})

it('creates a token for a service account that works as a password, and revokes it by its last characters', async () => {
  const { run, url } = await openEngine()
  expect((await run('users', 'add', 'ci', '--kind', 'service', '--role', 'deployer')).out).toContain('--user ci')
  const { out } = await run('tokens', 'add', 'GitLab', '--user', 'ci', '--role', 'viewer', '--days', 'never')
  expect(out).toMatch(/^sdk_[\w-]{51}\n\nIt does not expire\. Scrapdeck does not show it again\.\n$/)
  const secret = out.split('\n', 1)[0]!
  const asCi = { url, password: secret, environment: { SCRAPDECK_USERNAME: 'ci' }, directory: makeDirectory() }
  expect((await call(['users', 'me'], asCi)).out).toBe('ci, viewer\n')
  expect((await call(['tokens'], asCi)).out).toMatch(/\nGitLab +ci +viewer +all +[\w-]{8} +never +never +/)
  expect((await run('tokens')).out).toMatch(/\nGitLab +ci +viewer /)
  expect((await call(['tokens', 'add', 'another'], asCi)).code).toBe(EXIT_CODES.unauthorized)
  expect((await run('tokens', 'revoke', 'no-such')).code).toBe(EXIT_CODES.notFound)
  expect((await run('tokens', 'revoke', secret.slice(-8))).out).toBe('Revoked GitLab\n')
  expect((await call(['users', 'me'], asCi)).code).toBe(EXIT_CODES.unauthorized)
  expect((await run('tokens')).out).toMatch(/^No tokens/)
})

it('keeps groups, which give their members rights, and roles in node groups', async () => {
  const { run, url } = await openEngine({ password: `${PASSWORD}\n` })
  expect((await run('groups')).out).toMatch(/^No groups/)
  await run('users', 'add', 'ben', '--role', 'viewer')
  const given = ['--role', 'operator', '--project', 'shop=deployer', '--node-group', 'eu=admin', '--member', 'Ben']
  expect((await run('groups', 'add', 'Crawl team', ...given)).out).toBe(
    'Added Crawl team: operator, deployer in shop, admin of nodes eu; 1 member\n'
  )
  const add = ['--role', 'none', '--group', 'crawl team', '--new-password-file', 'password']
  expect((await run('users', 'add', 'kim', ...add)).out).toContain('Added kim')
  const asKim = { url, password: PASSWORD, environment: { SCRAPDECK_USERNAME: 'kim' } }
  expect((await call(['users', 'me'], asKim)).out).toBe('kim, operator, deployer in shop, admin of nodes eu\n')
  expect((await run('groups', 'list')).out).toMatch(/\nCrawl team +operator, deployer in shop, .* +ben, kim +/)
  const set = ['--role', 'none', '--project', '', '--node-group', 'eu=viewer', '--remove-member', 'ben']
  expect((await run('groups', 'set', 'Crawl team', ...set)).out).toBe('Crawl team: viewer of nodes eu; 1 member\n')
  expect((await call(['users', 'me'], asKim)).out).toBe('kim, viewer of nodes eu\n')
  expect((await run('groups', 'set', 'Crawl team', '--node-group', 'eu=owner')).error).toContain('TAG=ROLE')
  expect((await run('groups', 'set', 'Crawl team')).code).toBe(EXIT_CODES.usage)
  expect((await run('groups', 'set', 'nobody', '--role', 'viewer')).error).toContain('There is no group nobody')
  expect((await run('groups', 'set', 'Crawl team', '--member', '')).out).toContain('0 members')
  expect((await call(['users', 'me'], asKim)).code).toBe(EXIT_CODES.unauthorized)
  expect((await run('groups', 'remove', 'Crawl team')).out).toBe('Removed Crawl team, which had 0 members\n')
})

it('lists the browsers that are logged in, and logs one out by the first characters of its session id', async () => {
  const { run, url } = await openEngine({ password: `${PASSWORD}\n` })
  expect((await run('sessions')).out).toMatch(/^No browser is logged in/)
  await run('users', 'add', 'anna', '--role', 'operator', '--new-password-file', 'password')
  const login = await fetch(`${url}/ui/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'user-agent': 'Firefox' },
    body: new URLSearchParams({ username: 'anna', password: PASSWORD })
  })
  const cookie = login.headers.getSetCookie()[0]!.split(';', 1)[0]!
  const isLoggedIn = async () => (await fetch(`${url}/api/v1/users/me`, { headers: { cookie } })).status === 200
  expect(await isLoggedIn()).toBe(true)
  const { out } = await run('sessions', 'list')
  expect(out).toMatch(/\nanna +password +127\.0\.0\.1 +Firefox +/)
  expect((await run('sessions', 'revoke', 'zzz')).code).toBe(EXIT_CODES.notFound)
  const [, id] = / ([0-9a-f]{12})\s*$/.exec(out)!
  expect((await run('sessions', 'revoke', id!)).out).toBe('Logged out anna\n')
  expect(await isLoggedIn()).toBe(false)
})

it('adds a role with permissions, gives it in one project, and removes it when no user has it any more', async () => {
  const { run, url } = await openEngine({ password: `${PASSWORD}\n` })
  const add = ['add', 'shop keeper', '--permission', 'jobs.run', '--permission', 'jobs.cancel']
  expect((await run('roles', ...add)).out).toBe('Added shop keeper: read, jobs.run, jobs.cancel\n')
  expect((await run('roles')).out).toMatch(/shop keeper +custom +any project +read, jobs.run, jobs.cancel/)
  expect((await run('roles', 'show', 'shop keeper')).out).toMatch(/jobs.cancel +any project +Cancel jobs/)
  expect((await run('roles', 'add', 'other', '--permission', 'jobs.rum')).error).toContain('jobs.run')
  const evil = await run('roles', 'add', 'other', '--permission', 'users.change')
  expect(evil.error).toContain('Only owners can have users.change')
  await run('users', 'add', 'kim', '--role', 'none', '--project', 'shop=shop keeper', '--new-password-file', 'password')
  const asKim = { url, password: PASSWORD, environment: { SCRAPDECK_USERNAME: 'kim' } }
  expect((await call(['users', 'me'], asKim)).out).toBe('kim, shop keeper in shop\n')
  expect((await run('roles', 'remove', 'shop keeper')).error).toContain('is in use: the user kim')
  expect((await run('roles', 'set', 'shop keeper', '--permission', 'jobs.cancel')).out).toBe(
    'shop keeper: read, jobs.cancel\n'
  )
  await run('users', 'remove', 'kim')
  expect((await run('roles', 'remove', 'shop keeper')).out).toBe('Removed shop keeper\n')
})
