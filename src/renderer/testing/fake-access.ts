import { implement } from '@orpc/server'
import {
  type AccessRole,
  type AccessToken,
  contract,
  type Group,
  type Me,
  type NewRole,
  type Session,
  type User,
  type WaitingSignIn
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { readUserCode } from '../../shared/sign-in.ts'
import { branded } from '../../shared/testing/ids.ts'
import { includes, namesOf, NONE, permissionsOf, PROJECT_PERMISSIONS, READ, unite } from '../../shared/permissions.ts'
import { BUILT_IN_ROLES } from '../features/access/role-words.ts'
import { permissionsOfRole, type Role } from '../../shared/roles.ts'
import { createFakeSecondFactors } from './fake-second-factors.ts'
import type { FakeWorld } from './fake-world.ts'

const DAY_MS = 86_400_000

/** Users and tokens in memory. `role`: the role of the page's user; the fake engine does not enforce it. */
export function createFakeAccess(
  { firstRun, nextNumber }: FakeWorld,
  {
    role = 'owner',
    projectRoles,
    isInBrowser = false
  }: { role?: Role | undefined; projectRoles?: Record<string, Role> | undefined; isInBrowser?: boolean | undefined }
) {
  const os = implement(contract)
  const nowMs = Date.now()
  const users = new Map((firstRun ? [] : fakeUsers(nowMs)).map((user) => [user.id, user]))
  const groups = new Map((firstRun ? [] : fakeGroups([...users.values()], nowMs)).map((group) => [group.id, group]))
  const tokens = new Map((firstRun ? [] : fakeTokens([...users.values()], nowMs)).map((token) => [token.id, token]))
  const sessions = new Map((firstRun ? [] : fakeSessions([...users.values()], nowMs)).map((one) => [one.id, one]))
  const userOf = (id: string): User => {
    const user = users.get(branded(id))
    if (user === undefined) throw new ScrapdeckError('USER_NOT_FOUND', `There is no user ${id}`)
    return user
  }
  const roles = new Map<string, AccessRole>()
  const saveRole = ({ name, description, permissions }: NewRole): AccessRole => {
    const set = unite(permissionsOf(permissions), READ)
    const isForProjects = includes(PROJECT_PERMISSIONS, set)
    const made = { name, description, permissions: namesOf(set), isBuiltIn: false, isForProjects }
    roles.set(name, made)
    return made
  }
  const roleOf = (name: string): AccessRole => {
    const found = roles.get(name)
    if (found === undefined) throw new ScrapdeckError('ROLE_NOT_FOUND', `There is no role ${name}`)
    return found
  }
  if (!firstRun) for (const one of FAKE_ROLES) saveRole(one)
  const save = (user: User) => {
    users.set(user.id, user)
    return { user }
  }
  const groupOf = (id: string): Group => {
    const group = groups.get(branded(id))
    if (group === undefined) throw new ScrapdeckError('GROUP_NOT_FOUND', `There is no group ${id}`)
    return group
  }
  const saveGroup = (group: Group) => {
    for (const id of group.members) userOf(id)
    groups.set(group.id, group)
    return { group }
  }
  const me = { userId: role === 'owner' ? null : [...users.keys()][0]!, name: role === 'owner' ? 'scrapdeck' : 'anna' }
  return {
    users: {
      me: os.users.me.handler(() => ({
        ...me,
        role,
        nodeGroups: {},
        tokenId: null,
        ...(projectRoles === undefined
          ? { everywhere: role, projects: {} }
          : { everywhere: null, projects: projectRoles as Me['projects'] }),
        permissions: {
          everywhere: projectRoles === undefined ? namesOf(permissionsOfRole(role)) : null,
          projects: Object.fromEntries(
            Object.entries(projectRoles ?? {}).map(([name, one]) => [name, namesOf(permissionsOfRole(one))])
          ),
          nodeGroups: {}
        },
        groups:
          me.userId === null
            ? []
            : [...groups.values()].flatMap(({ name, members }) => (members.includes(me.userId!) ? [name] : []))
      })),
      list: os.users.list.handler(() => ({ users: [...users.values()] })),
      create: os.users.create.handler(({ input: { password, groups: joined, ...user } }) => {
        if ([...users.values()].some(({ name }) => name === user.name)) {
          throw new ScrapdeckError('USER_NAME_TAKEN', `There is already a user ${user.name}. Choose another name`)
        }
        const made = { id: branded<User['id']>(idOf(nextNumber())), createdAtMs: Date.now(), lastSeenAtMs: null }
        for (const id of joined) {
          const group = groupOf(id)
          groups.set(id, { ...group, members: [...group.members, made.id] })
        }
        return save({
          ...user,
          ...made,
          enabled: true,
          origin: 'local',
          hasPassword: password !== undefined,
          ...NO_FACTORS
        })
      }),
      update: os.users.update.handler(({ input: { id, password, role: newRole, projects, nodeGroups, enabled } }) => {
        const before = userOf(id)
        return save({
          ...before,
          role: newRole === undefined ? before.role : newRole,
          projects: projects ?? before.projects,
          nodeGroups: nodeGroups ?? before.nodeGroups,
          enabled: enabled ?? before.enabled,
          hasPassword: before.hasPassword || password !== undefined
        })
      }),
      remove: os.users.remove.handler(({ input }) => {
        for (const group of groups.values()) {
          groups.set(group.id, { ...group, members: group.members.filter((id) => id !== input.id) })
        }
        return { removed: users.delete(userOf(input.id).id) }
      }),
      changePassword: os.users.changePassword.handler(() => {
        if (me.userId !== null) return { changed: true as const }
        throw new ScrapdeckError('BAD_INPUT', 'The password of the service itself is changed on its machine')
      })
    },
    groups: {
      list: os.groups.list.handler(() => ({ groups: [...groups.values()] })),
      create: os.groups.create.handler(({ input }) => {
        if ([...groups.values()].some(({ name }) => name === input.name)) {
          throw new ScrapdeckError('GROUP_NAME_TAKEN', `There is already a group ${input.name}. Choose another name`)
        }
        return saveGroup({ ...input, id: branded<Group['id']>(idOf(nextNumber())), createdAtMs: Date.now() })
      }),
      update: os.groups.update.handler(({ input: { id, members, addMembers = [], removeMembers = [], ...given } }) => {
        const before = groupOf(id)
        const kept = [...new Set([...(members ?? before.members), ...addMembers])]
        const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
        return saveGroup({ ...before, ...changes, members: kept.filter((one) => !removeMembers.includes(one)) })
      }),
      remove: os.groups.remove.handler(({ input }) => ({ removed: groups.delete(groupOf(input.id).id) }))
    },
    roles: {
      list: os.roles.list.handler(() => ({ roles: [...BUILT_IN_ROLES, ...roles.values()] })),
      create: os.roles.create.handler(({ input }) => {
        if (roles.has(input.name) || permissionsOfRole(input.name) !== NONE) {
          throw new ScrapdeckError('ROLE_NAME_TAKEN', `There is already a role ${input.name}. Choose another name`)
        }
        return { role: saveRole(input) }
      }),
      update: os.roles.update.handler(({ input: { name, ...changes } }) => ({
        role: saveRole({ ...roleOf(name), ...changes, name })
      })),
      remove: os.roles.remove.handler(({ input: { name } }) => {
        const holder = [...users.values()].find((user) => [user.role, ...Object.values(user.projects)].includes(name))
        if (holder === undefined) return { removed: roles.delete(roleOf(name).name) }
        throw new ScrapdeckError('ROLE_IN_USE', `The role ${name} is in use: the user ${holder.name}`)
      })
    },
    secondFactors: createFakeSecondFactors({
      me: () => (me.userId === null ? null : userOf(me.userId)),
      reset: (id) => save({ ...userOf(id), ...NO_FACTORS })
    }),
    signIns: {
      get: os.signIns.get.handler(({ input }) => {
        requireBrowser(isInBrowser)
        if (readUserCode(input.userCode) === FAKE_USER_CODE) return fakeSignIn()
        throw new ScrapdeckError('SIGN_IN_NOT_FOUND', 'No pending sign-in has this code.')
      }),
      approve: os.signIns.approve.handler(({ input }) => {
        requireBrowser(isInBrowser)
        return { code: input.to.kind === 'redirect' ? 'a-code' : null }
      }),
      deny: os.signIns.deny.handler(() => {
        requireBrowser(isInBrowser)
        return { denied: true as const }
      })
    },
    sessions: {
      list: os.sessions.list.handler(() => ({ sessions: [...sessions.values()] })),
      revoke: os.sessions.revoke.handler(({ input: { id } }) => {
        if (sessions.delete(id)) return { revoked: true as const }
        throw new ScrapdeckError('SESSION_NOT_FOUND', `There is no session ${id}; it may have ended`)
      })
    },
    tokens: {
      list: os.tokens.list.handler(() => ({ tokens: [...tokens.values()] })),
      create: os.tokens.create.handler(
        ({ input: { expiresInDays, userId = me.userId, role: wanted, projects, nodeGroups, name } }) => {
          const its = wanted ?? (userId === null ? role : (userOf(userId).role ?? 'viewer'))
          const token: AccessToken = {
            id: branded(idOf(nextNumber())),
            userId,
            name,
            role: its,
            projects,
            nodeGroups,
            ending: '9f3a01c2',
            lastUsedAtMs: null,
            createdAtMs: Date.now(),
            expiresAtMs: expiresInDays === null ? null : Date.now() + expiresInDays * DAY_MS
          }
          tokens.set(token.id, token)
          return { secret: `sdk_${'x'.repeat(43)}9f3a01c2`, token }
        }
      ),
      revoke: os.tokens.revoke.handler(({ input }) => {
        if (tokens.delete(input.id)) return { revoked: true }
        throw new ScrapdeckError('TOKEN_NOT_FOUND', `There is no token ${input.id}; it may have been revoked`)
      })
    }
  }
}

const FAKE_ROLES: NewRole[] = [
  {
    name: 'shop keeper',
    description: 'Runs and cancels jobs, and leaves schedules alone',
    permissions: ['read', 'jobs.run', 'jobs.cancel']
  },
  {
    name: 'auditor',
    description: '',
    permissions: ['read', 'audit.read']
  }
]

/** The code of the only pending sign-in. */
export const FAKE_USER_CODE = 'WDJBMJHT'
const fakeSignIn = (): WaitingSignIn => ({
  client: 'cli',
  host: 'build-7',
  user: 'anna',
  address: '10.0.0.7',
  beganAtMs: Date.now() - 20_000,
  endsAtMs: Date.now() + 580_000
})

function requireBrowser(isInBrowser: boolean): void {
  if (isInBrowser) return
  throw new ScrapdeckError(
    'BROWSER_REQUIRED',
    'Only a user who is logged in with a browser can approve the sign-in of a program.'
  )
}

const idOf = (number: number): string => number.toString(16).padStart(32, '0')

const NO_FACTORS = { hasAuthenticator: false, passkeyCount: 0 }

function fakeUsers(nowMs: number): User[] {
  const common = { ...NO_FACTORS, enabled: true, hasPassword: true, nodeGroups: {}, createdAtMs: nowMs - 40 * DAY_MS }
  const rows: (Omit<User, 'id' | 'origin' | keyof typeof common> & Partial<User>)[] = [
    {
      name: 'anna',
      kind: 'person',
      role: 'operator',
      projects: {},
      lastSeenAtMs: nowMs - 120_000,
      hasAuthenticator: true,
      passkeyCount: 1
    },
    { name: 'ben', kind: 'person', role: 'viewer', projects: branded({ shop: 'deployer' }), lastSeenAtMs: null },
    { name: 'carla', kind: 'person', role: 'operator', projects: {}, origin: 'oidc', lastSeenAtMs: nowMs - 600_000 },
    { name: 'ci', kind: 'service', role: 'deployer', projects: {}, lastSeenAtMs: nowMs - 3_600_000 }
  ]
  return rows.map((row, index) => ({
    origin: 'local' as const,
    ...common,
    ...row,
    id: branded<User['id']>(idOf(0xa00 + index)),
    hasPassword: row.kind === 'person' && row.origin === undefined
  }))
}

function fakeGroups(users: User[], nowMs: number): Group[] {
  const [, ben, carla] = users.map(({ id }) => id)
  const common = { projects: {}, nodeGroups: {}, createdAtMs: nowMs - 30 * DAY_MS }
  return [
    {
      ...common,
      id: branded<Group['id']>(idOf(0xc00)),
      name: 'Crawl team',
      role: 'operator',
      description: 'Runs the crawls of all shops',
      projects: branded({ shop: 'deployer' }),
      members: [ben!, carla!]
    },
    {
      ...common,
      id: branded<Group['id']>(idOf(0xc01)),
      name: 'On call',
      role: null,
      description: '',
      nodeGroups: { eu: 'operator', us: 'operator' },
      members: [ben!]
    }
  ]
}

function fakeTokens(users: User[], nowMs: number): AccessToken[] {
  return users
    .filter(({ origin }) => origin === 'local')
    .map((user, index) => ({
      id: branded<AccessToken['id']>(idOf(0xb00 + index)),
      userId: user.id,
      role: user.role ?? 'viewer',
      projects: null,
      nodeGroups: null,
      name: ['laptop', 'dashboard', 'GitLab'][index]!,
      ending: ['5d10aa7e', '0c9e41b2', 'e77f0412'][index]!,
      createdAtMs: nowMs - 20 * DAY_MS,
      expiresAtMs: [nowMs + 70 * DAY_MS, nowMs - DAY_MS, null][index]!,
      lastUsedAtMs: [nowMs - 60_000, null, nowMs - 3_600_000][index]!
    }))
}

function fakeSessions(users: User[], nowMs: number): Session[] {
  const agents = [
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0'
  ]
  const ways: Session['signedInWith'][] = ['link', 'passkey', 'oidc']
  return [null, users[0]!, users[2]!].map((user, index) => ({
    id: index.toString(16).repeat(64),
    userId: user?.id ?? null,
    userName: user?.name ?? 'scrapdeck',
    signedInWith: ways[index]!,
    userAgent: agents[index]!,
    address: ['127.0.0.1', '10.3.0.21', '10.3.0.40'][index]!,
    createdAtMs: nowMs - (index + 1) * 3 * 3_600_000,
    lastSeenAtMs: nowMs - index * 1_260_000,
    endsAtMs: nowMs + (index === 2 ? 3 * 3_600_000 : 26 * DAY_MS),
    isCurrent: index === 0
  }))
}
