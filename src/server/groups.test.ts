import { describe, expect, it, onTestFinished } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { branded } from '../shared/testing/ids.ts'
import { basic, cookieOf, openTestApp } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function openWithGroup() {
  const app = openTestApp()
  const { access } = app.engine
  const group = await access.groups.create({
    name: 'Crawl team',
    role: 'operator',
    projects: branded({ shop: 'deployer' })
  })
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password: PASSWORD })
  const kim = await access.createUser({
    name: 'kim',
    kind: 'person',
    role: null,
    groups: [group.id],
    password: PASSWORD
  })
  const logIn = (name: string) => {
    const payload = new URLSearchParams({ username: name, password: PASSWORD }).toString()
    return app.askAnonymously({ method: 'POST', url: '/ui/login', headers: FORM, payload })
  }
  const meWith = async (headers: Record<string, string>) => {
    const answer = await app.askAnonymously({ url: '/api/v1/users/me', headers })
    return answer.statusCode === 200 ? answer.json() : answer.statusCode
  }
  const asName = (name: string) => meWith({ authorization: basic(name, PASSWORD) })
  return { ...app, access, group, anna, kim, logIn, meWith, asName }
}

describe('a member of a group', () => {
  it('has the rights of the group in addition to its own, and can log in with them alone', async () => {
    const { access, group, anna, logIn, asName } = await openWithGroup()
    expect((await logIn('kim')).statusCode).toBe(303)
    expect(await asName('kim')).toMatchObject({
      role: 'deployer',
      everywhere: 'operator',
      projects: { shop: 'deployer' },
      groups: ['Crawl team']
    })
    expect(await asName('anna')).toMatchObject({ everywhere: 'viewer', projects: {}, groups: [] })
    await access.groups.update(group.id, { addMembers: [anna.id] })
    expect(await asName('anna')).toMatchObject({ everywhere: 'operator', projects: { shop: 'deployer' } })
    await access.groups.update(group.id, { role: null, projects: {} })
    expect(await asName('anna')).toMatchObject({ everywhere: 'viewer', projects: {}, groups: ['Crawl team'] })
    expect(await asName('kim')).toBe(401)
  })

  it('loses the rights of the group with the next request, and keeps its session', async () => {
    const { access, group, anna, logIn, meWith } = await openWithGroup()
    await access.groups.update(group.id, { addMembers: [anna.id] })
    const cookies = [cookieOf(await logIn('anna')), cookieOf(await logIn('kim'))]
    await access.groups.update(group.id, { members: [] })
    expect(await meWith({ cookie: cookies[0]! })).toMatchObject({ everywhere: 'viewer' })
    expect(await meWith({ cookie: cookies[1]! })).toBe(401)
    await access.groups.update(group.id, { members: [anna.id] })
    await access.groups.remove(group.id)
    expect(await meWith({ cookie: cookies[0]! })).toMatchObject({ everywhere: 'viewer', groups: [] })
  })

  it('has tokens with at most these rights, which end with the membership', async () => {
    const { access, group, kim, meWith } = await openWithGroup()
    const { secret } = await access.createToken(OWNER, {
      name: 't',
      userId: kim.id,
      role: 'operator',
      expiresInDays: null
    })
    const authorization = `Bearer ${secret}`
    expect(await meWith({ authorization })).toMatchObject({ everywhere: 'operator' })
    await access.groups.update(group.id, { role: 'viewer' })
    expect(await meWith({ authorization })).toMatchObject({ everywhere: 'viewer', projects: { shop: 'operator' } })
    await access.groups.remove(group.id)
    expect(await meWith({ authorization })).toBe(401)
    await expect(access.createToken(OWNER, { name: 'u', userId: kim.id, expiresInDays: null })).rejects.toMatchObject({
      code: 'BAD_INPUT'
    })
  })

  it('loses its live updates as soon as a group no longer allows them', async () => {
    const { access, group, anna, kim } = await openWithGroup()
    const principal = (await access.findByPassword('kim', PASSWORD))!
    const other = (await access.findByPassword('anna', PASSWORD))!
    let announced = 0
    access.events.on('changed', () => (announced += 1))
    await access.groups.update(group.id, { description: 'Nothing else' })
    expect([access.isCurrent(principal), access.isCurrent(other)]).toEqual([true, true])
    await access.groups.update(group.id, { role: 'viewer' })
    expect([access.isCurrent(principal), access.isCurrent(other), announced]).toEqual([false, true, 2])
    expect(access.groups.list()[0]!.members).toEqual([kim.id])
    expect(anna.role).toBe('viewer')
  })

  it('leaves the group when removed, and a new user of the same name is not in it', async () => {
    const { access, kim } = await openWithGroup()
    await access.removeUser(kim.id)
    expect(access.groups.list()[0]!.members).toEqual([])
    await expect(access.createUser({ name: 'kim', kind: 'person', role: null })).rejects.toMatchObject({
      code: 'BAD_INPUT'
    })
  })
})

describe('groups', () => {
  it('are limited in number, have unique names, and contain only existing users and roles', async () => {
    const { access, group, anna } = await openWithGroup()
    const refused = async (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: { code: string }) => error.code
      )
    expect(await refused(access.groups.create({ name: 'crawl TEAM' }))).toBe('GROUP_NAME_TAKEN')
    expect(await refused(access.groups.create({ name: 'x', role: 'nothing' }))).toBe('BAD_INPUT')
    expect(await refused(access.groups.update(group.id, { projects: branded({ shop: 'owner' }) }))).toBe('BAD_INPUT')
    const nobody = branded<typeof anna.id>('0'.repeat(32))
    expect(await refused(access.groups.update(group.id, { addMembers: [nobody] }))).toBe('USER_NOT_FOUND')
    expect(
      await refused(access.createUser({ name: 'x', kind: 'person', role: null, groups: [branded('0'.repeat(32))] }))
    ).toBe('GROUP_NOT_FOUND')
    const many = await Promise.all(
      Array.from({ length: 1_001 }, (_, index) =>
        access.createUser({ name: `u${index}`, kind: 'service', role: 'viewer' })
      )
    )
    const ids = many.map(({ id }) => id)
    expect(await refused(access.groups.update(group.id, { members: ids }))).toBe('BAD_INPUT')
    expect(await refused(access.groups.update(group.id, { members: ids.slice(1) }))).toBe('done')
    expect(
      await refused(access.createUser({ name: 'one more', kind: 'service', role: null, groups: [group.id] }))
    ).toBe('BAD_INPUT')
    for (let index = 0; index < 199; index += 1) await access.groups.create({ name: `g${index}` })
    expect(await refused(access.groups.create({ name: 'too many' }))).toBe('BAD_INPUT')
  })

  it('that have a custom role prevent its removal, and their members get its permissions', async () => {
    const { access, group, asName } = await openWithGroup()
    await access.roles.create({ name: 'shop keeper', description: '', permissions: ['read', 'jobs.run'] })
    await access.groups.update(group.id, { role: 'shop keeper', projects: {} })
    await expect(access.roles.remove('shop keeper')).rejects.toMatchObject({
      code: 'ROLE_IN_USE',
      message: expect.stringContaining('the group Crawl team')
    })
    expect((await asName('kim')).permissions.everywhere).toEqual(['read', 'jobs.run'])
    await access.roles.update({ name: 'shop keeper', permissions: ['read'] })
    expect((await asName('kim')).permissions.everywhere).toEqual(['read'])
  })

  it('can be seen and changed by owners only', async () => {
    const { askAnonymously, group } = await openWithGroup()
    const url = `/api/v1/groups/${group.id}`
    for (const method of ['PATCH', 'DELETE'] as const) {
      const headers = { authorization: basic('kim', PASSWORD) }
      const { statusCode } = await askAnonymously({ method, url, headers, ...(method === 'PATCH' && { payload: {} }) })
      expect(statusCode).toBe(403)
    }
  })

  it('are in the audit log: each change with the values before, and members by name', async () => {
    const opened = await openEngineWithFakeNode()
    onTestFinished(() => opened.remove())
    const { client } = opened
    const { user } = await client.users.create({ name: 'anna', role: 'viewer' })
    const { group } = await client.groups.create({ name: 'Crawl team', role: 'operator', members: [user.id] })
    await client.groups.update({ id: group.id, role: 'viewer', removeMembers: [user.id] })
    await client.groups.update({ id: group.id, addMembers: [user.id] })
    await client.users.remove({ id: user.id })
    await client.groups.remove({ id: group.id })
    const { entries } = await client.audit.list({ limit: 10 })
    const found = entries.map(({ operation, changes }) => [
      operation,
      changes.map(({ noun, name }) => `${noun} ${name}`)
    ])
    expect(found).toEqual([
      ['groups.remove', ['group Crawl team']],
      ['users.remove', ['user anna']],
      ['groups.update', ['group Crawl team']],
      ['groups.update', ['group Crawl team']],
      ['groups.create', ['group Crawl team']],
      ['users.create', ['user anna']]
    ])
    expect(entries[3]!.changes[0]!.fields).toEqual([
      { field: 'role', before: '"operator"', after: '"viewer"' },
      { field: 'members', before: '["anna"]', after: '[]' }
    ])
    expect(entries[1]!.changes[0]!.fields).toContainEqual({ field: 'groups', before: '["Crawl team"]', after: null })
  })
})
