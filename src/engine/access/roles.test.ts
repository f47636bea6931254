import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { NewRole } from '../../shared/contract/index.ts'
import {
  intersect,
  namesOf,
  NONE,
  OWNER_PERMISSIONS,
  type Permission,
  PERMISSIONS,
  permissionsOf,
  PROJECT_PERMISSIONS
} from '../../shared/permissions.ts'
import { rolesContract } from '../../shared/contract/index.ts'
import { silentLogger } from '../runtime/logger.ts'
import { systemRandom } from '../runtime/random.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Access } from './access.ts'
import { OWNER, type Principal, requirePermission } from './principal.ts'
import { permissionsIn, rightsOf } from './rights.ts'

const KEEPER: NewRole = { name: 'shop keeper', description: '', permissions: ['jobs.run', 'jobs.cancel'] }
const AUDITOR: NewRole = { name: 'auditor', description: '', permissions: ['read', 'audit.read'] }

async function openAccess() {
  const temporary = await openTemporaryStore()
  onTestFinished(() => temporary.remove())
  const { store } = temporary
  const clock = createFakeClock()
  const parts = { store, clock, random: systemRandom, logger: silentLogger, ownerName: 'scrapdeck' }
  const access = await Access.open(parts)
  const { roles } = access
  const programWith = async (role: string | null, projects: Record<string, string> = {}, name = 'ci') => {
    const user = await access.createUser({ name, kind: 'service', role, projects: projects as never })
    const { secret, token } = await access.createToken(OWNER, { name: 'a', userId: user.id, expiresInDays: null })
    return { user, secret, token }
  }
  return { access, roles, store, reopen: () => Access.open(parts), programWith }
}

const namesAnywhere = (principal: Principal | null) => namesOf(principal?.rights.anywhere ?? NONE)
const inShop = (principal: Principal | null) =>
  namesOf(principal === null ? NONE : (permissionsIn(principal.rights, 'shop' as never) ?? NONE))

describe('a custom role', () => {
  it('allows its permissions, and reading, in all projects or in individual ones, also after a restart', async () => {
    const { access, roles, reopen, programWith } = await openAccess()
    await roles.create(KEEPER)
    await roles.create(AUDITOR)
    const { secret } = await programWith('auditor', { shop: 'shop keeper' })
    for (const one of [access, await reopen()]) {
      const found = one.findByToken(secret)
      expect(namesOf(found!.rights.everywhere!)).toEqual(['read', 'audit.read'])
      expect(inShop(found)).toEqual(['read', 'jobs.run', 'jobs.cancel', 'audit.read'])
      expect(found!.role).toBe('auditor + shop keeper')
    }
  })

  it('that is changed applies at once, also through tokens, and ends requests in progress', async () => {
    const { access, roles, programWith } = await openAccess()
    await roles.create(KEEPER)
    const { secret } = await programWith('shop keeper')
    const before = access.findByToken(secret)!
    let changes = 0
    access.events.on('changed', () => (changes += 1))
    await roles.update({ name: 'shop keeper', description: 'other words' })
    expect(access.isCurrent(before)).toBe(true)
    await roles.update({ name: 'shop keeper', permissions: ['jobs.cancel'] })
    expect([changes, access.isCurrent(before)]).toEqual([2, false])
    expect(namesAnywhere(access.findByToken(secret))).toEqual(['read', 'jobs.cancel'])
  })

  it('with permissions for the whole service cannot be given for single projects', async () => {
    const { access, roles, programWith } = await openAccess()
    await roles.create(AUDITOR)
    await roles.create(KEEPER)
    await expect(programWith(null, { shop: 'auditor' })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message:
        'The role auditor has permissions for the whole service (read the audit log), so it cannot be assigned in individual projects such as shop'
    })
    await programWith(null, { shop: 'shop keeper' })
    await expect(roles.update({ ...AUDITOR, name: 'shop keeper' })).rejects.toMatchObject({
      message: expect.stringContaining('in individual projects, as to the user ci')
    })
    expect(access.listUsers()).toHaveLength(1)
  })

  it('that a user has cannot be removed, and the error names the user', async () => {
    const { access, roles, programWith } = await openAccess()
    await roles.create(KEEPER)
    const { user, token } = await programWith(null, { shop: 'shop keeper' })
    const text = /^The role shop keeper is in use: the user ci, the token a\. Assign another role to them first/
    await expect(roles.remove('shop keeper')).rejects.toMatchObject({
      code: 'ROLE_IN_USE',
      message: expect.stringMatching(text)
    })
    await access.updateUser(user.id, { projects: { shop: 'viewer' } as never })
    await access.revokeToken(OWNER, token.id)
    roles.setConfigured(new Map([['shop keeper', ['oidc_roles']]]))
    await expect(roles.remove('shop keeper')).rejects.toMatchObject({
      message: expect.stringContaining('the option oidc_roles')
    })
    roles.setConfigured(new Map())
    expect(await roles.remove('shop keeper')).toBe(true)
    await expect(roles.remove('shop keeper')).rejects.toMatchObject({ code: 'ROLE_NOT_FOUND' })
    await expect(roles.remove('viewer')).rejects.toMatchObject({ message: expect.stringContaining('built-in') })
  })

  it('cannot be removed while a user is given it: one of the two happens first', async () => {
    const { access, roles } = await openAccess()
    await roles.create(KEEPER)
    const wanted = { name: 'ci', kind: 'service', role: 'shop keeper' } as const
    const results = await Promise.allSettled([access.createUser(wanted), roles.remove('shop keeper')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  it('has a name that lines of oidc_roles can have', () => {
    const schema = rolesContract.create['~orpc'].inputSchema!
    const accepts = (name: string) => schema.safeParse({ name, description: '', permissions: ['read'] }).success
    const scopes = ['keeper in shop', 'keeper of nodes eu', 'keeper of nodes']
    expect([...scopes, 'keeper of nodes-eu', 'keeper of shop'].filter(accepts)).toEqual([
      ...['keeper of nodes-eu', 'keeper of shop']
    ])
  })

  it('is not given to a user or token if it does not exist', async () => {
    const { access, programWith } = await openAccess()
    await expect(programWith('shop keeper')).rejects.toMatchObject({ code: 'BAD_INPUT', data: { field: 'role' } })
    await expect(programWith('operator + viewer')).rejects.toMatchObject({ code: 'BAD_INPUT' })
    const wanted = { name: 'a', role: 'shop keeper', expiresInDays: null }
    await expect(access.createToken(OWNER, wanted)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })
})

describe('a permission that only owners have', () => {
  const forbidden = [...PERMISSIONS] satisfies Permission[]

  it('is in no role that is created or changed through the contract', () => {
    const { create, update } = rolesContract
    for (const procedure of [create, update]) {
      const schema = procedure['~orpc'].inputSchema!
      const accepts = (names: string[]) => schema.safeParse({ name: 'a', description: '', permissions: names }).success
      for (const name of forbidden) {
        expect(accepts(['read', name]), name).toBe((permissionsOf([name]) & OWNER_PERMISSIONS) === 0)
      }
    }
  })

  it('is in no custom role, whether an engine, a copied database or an edited one contains it', async () => {
    const { store, reopen, programWith } = await openAccess()
    await fc.assert(
      fc.asyncProperty(fc.subarray([...PERMISSIONS, 'of.later']), async (permissions) => {
        await store.putRole({ name: 'evil', description: '', permissions, createdAtMs: 0 })
        const { roles } = await reopen()
        expect(intersect(roles.setOf('evil'), OWNER_PERMISSIONS)).toBe(NONE)
        const changed = await roles.update({ name: 'evil', permissions: permissions as Permission[] })
        expect(changed.permissions).not.toContain('users.change')
      }),
      { numRuns: 30 }
    )
    // A stored role must not replace a built-in role, or a combination of several.
    for (const name of ['viewer', 'viewer + operator']) {
      await store.putRole({ name, description: '', permissions: PERMISSIONS, createdAtMs: 0 })
    }
    const { roles } = await reopen()
    expect(namesOf(roles.setOf('viewer'))).toEqual(['read'])
    expect(roles.setOf('viewer + operator')).toBe(roles.setOf('operator'))
    const evil = await programWith('viewer', {}, 'evil')
    expect(namesAnywhere((await reopen()).findByToken(evil.secret))).toEqual(['read'])
  })

  it('is in no token of a user with a custom role, and such a user cannot create tokens for others', async () => {
    const { access, roles, programWith } = await openAccess()
    await roles.create({
      name: 'all',
      description: '',
      permissions: PERMISSIONS.filter((name) => name !== 'users.change')
    })
    const { user } = await programWith('all')
    for (const role of ['owner', 'admin', 'all']) {
      const made = access.createToken(OWNER, { name: 'b', userId: user.id, role, expiresInDays: null })
      if (role === 'owner') await expect(made).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
      else expect(namesAnywhere(access.findByToken((await made).secret))).not.toContain('users.change')
    }
    const asUser = { ...OWNER, userId: user.id, rights: rightsOf(roles.setOf('all')) }
    const forOwner = { name: 'c', userId: (await programWith('owner', {}, 'boss')).user.id, expiresInDays: null }
    await expect(access.createToken(asUser, forOwner)).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    expect(access.listTokens(asUser).every(({ userId }) => userId === user.id)).toBe(true)
  })

  it('is given to an external user only by the built-in role', async () => {
    const { access, roles } = await openAccess()
    await roles.create({
      name: 'all',
      description: '',
      permissions: PERMISSIONS.filter((name) => name !== 'users.change')
    })
    const vouched = { subject: 'oidc i 1', name: 'anna', projects: { shop: 'all' } as never, nodeGroups: {} }
    expect(namesAnywhere(await access.signIn({ ...vouched, role: 'admin + all' }))).not.toContain('users.change')
    expect(namesAnywhere(await access.signIn({ ...vouched, role: 'owner + all' }))).toContain('users.change')
    // In a project, a role gives only the permissions that can be given there.
    const principal = await access.signIn({ ...vouched, role: null })
    expect(namesAnywhere(principal)).toEqual(namesOf(PROJECT_PERMISSIONS))
  })
})

describe('a role of external groups', () => {
  it('that does not exist gives no rights: no user can sign in with it, and a problem names the role', async () => {
    const { access, roles, programWith } = await openAccess()
    roles.setConfigured(
      new Map([
        ['shop keeper', ['oidc_roles']],
        ['operator', ['jwt_roles']]
      ])
    )
    expect(roles.missing()).toEqual([{ name: 'shop keeper', options: ['oidc_roles'] }])
    const vouched = { subject: 'oidc i 1', name: 'anna', role: 'shop keeper', projects: {}, nodeGroups: {} }
    const refusal = {
      code: 'ROLE_REQUIRED',
      message: expect.stringContaining('the role shop keeper, which does not exist in this Scrapdeck')
    }
    await expect(access.signIn(vouched)).rejects.toMatchObject(refusal)
    expect([access.findVouched(vouched), access.listUsers()]).toEqual([null, []])
    const bearer = { ...vouched, subject: 'jwt i 1', expiresAtMs: Number.MAX_SAFE_INTEGER }
    expect(() => access.admitBearer('t', bearer)).toThrow('does not exist')
    expect(namesAnywhere(await access.signIn({ ...vouched, role: 'viewer + shop keeper' }))).toEqual(['read'])

    await roles.create(KEEPER)
    expect(roles.missing()).toEqual([])
    const together = await access.signIn({ ...vouched, role: 'viewer + shop keeper' })
    expect([namesAnywhere(together), together.role]).toEqual([['read', 'jobs.run', 'jobs.cancel'], 'shop keeper'])
    await expect(roles.remove('shop keeper')).rejects.toMatchObject({
      message: expect.stringMatching('the user anna, the option oidc_roles')
    })
    await programWith('viewer')
  })

  it('applies to signed tokens in its current form', async () => {
    const { access, roles } = await openAccess()
    await roles.create(KEEPER)
    const principal = access.admitBearer('t', {
      subject: 'jwt i 1',
      name: 'pipeline',
      role: null,
      projects: { shop: 'shop keeper' } as never,
      nodeGroups: {},
      expiresAtMs: Number.MAX_SAFE_INTEGER
    })
    expect(inShop(principal)).toEqual(['read', 'jobs.run', 'jobs.cancel'])
    await roles.update({ name: 'shop keeper', permissions: [] })
    expect(access.isCurrent(principal)).toBe(false)
    expect(inShop(access.findByBearer('t'))).toEqual(['read'])
  })
})

it('the changes sent to a principal depend on its permissions alone, not on the names of its roles', () => {
  const set = fc.subarray([...PERMISSIONS]).map(permissionsOf)
  const hear = (principal: Principal, needed: ReturnType<typeof permissionsOf>) => {
    try {
      requirePermission(principal, needed, 'jobs.run')
      return null
    } catch (error) {
      return (error as Error).message
    }
  }
  fc.assert(
    fc.property(set, set, fc.string(), fc.string(), (held, needed, one, other) => {
      const rights = rightsOf(held)
      const heard = hear({ ...OWNER, name: 'anna', role: one, rights }, needed)
      expect(heard).toBe(hear({ ...OWNER, name: 'anna', role: other, rights }, needed))
      expect(heard === null).toBe(namesOf(needed).every((name) => namesOf(held).includes(name)))
    })
  )
})
