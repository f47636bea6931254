import { z } from 'zod'
import {
  type AccessRole,
  type Group,
  GroupId,
  type Me,
  NewAccessToken,
  NewGroup,
  NewUser,
  type User,
  UserChanges,
  UserId
} from '../../../shared/contract/index.ts'
import { NONE, type Permissions, permissionsOf, unite } from '../../../shared/permissions.ts'
import { NODE_GROUP_ROLES, type NodeGroupRole, rolesIn } from '../../../shared/roles.ts'
import { setOfRole } from './role-words.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

const Password = UserChanges.shape.password.unwrap()

export const PASSWORD_HELP = texts.passwordHint

const rowsOf = <Role extends z.ZodType<string>>(role: Role, namedTwice: string, nameEach: string) =>
  z
    .array(z.object({ name: z.string().trim(), role }))
    .refine((rows) => new Set(rows.map(({ name }) => name)).size === rows.length, namedTwice)
    .refine((rows) => rows.every(({ name }) => name !== ''), nameEach)

const rightsFields = {
  /** `none`: only the roles in the listed projects and node groups. */
  role: z.string(),
  projects: rowsOf(z.string(), texts.projectNamedTwice, texts.nameEachProject),
  nodeGroups: rowsOf(z.enum(NODE_GROUP_ROLES), texts.tagNamedTwice, texts.nameEachTag)
}

interface RightsRows {
  role: string
  projects: { name: string; role: string }[]
  nodeGroups: { name: string; role: NodeGroupRole }[]
}

export type GivenRights = Pick<User, 'role' | 'projects' | 'nodeGroups'>

const byName = (rows: readonly { name: string; role: string }[]) =>
  Object.fromEntries(rows.map(({ name, role }) => [name, role]))

function toRights({ role, projects, nodeGroups }: RightsRows): GivenRights {
  return {
    role: role === 'none' ? null : role,
    projects: byName(projects) as User['projects'],
    nodeGroups: byName(nodeGroups) as User['nodeGroups']
  }
}

const hasRole = ({ role, projects, nodeGroups }: RightsRows) =>
  role !== 'none' || projects.length + nodeGroups.length > 0
const NO_ROLE = { error: texts.needsSomeRole, path: ['projects'] }

/** `mayHaveNone`: no role is required, because the user gets roles from groups. */
export const rightsForm = ({ mayHaveNone = false } = {}) =>
  z
    .object(rightsFields)
    .refine((rights) => mayHaveNone || hasRole(rights), NO_ROLE)
    .transform(toRights)
export type RightsTexts = z.input<ReturnType<typeof rightsForm>>

export const rightsIn = ({ role, projects, nodeGroups }: GivenRights): RightsTexts => ({
  role: role ?? 'none',
  projects: Object.entries(projects).map(([name, one]) => ({ name, role: one })),
  nodeGroups: Object.entries(nodeGroups).map(([name, one]) => ({ name, role: one }))
})

export const GroupForm = z
  .object({
    name: z.string().trim().min(1, texts.required).pipe(NewGroup.shape.name),
    description: z.string().trim().max(500),
    members: z.array(UserId).max(1_000, texts.tooManyMembers),
    ...rightsFields
  })
  .transform(
    ({ name, description, members, ...rights }): NewGroup => ({
      name,
      description,
      members,
      ...toRights(rights)
    })
  )
export type GroupTexts = z.input<typeof GroupForm>

export const startGroup = (group: Group | null): GroupTexts => ({
  name: group?.name ?? '',
  description: group?.description ?? '',
  members: [...(group?.members ?? [])],
  ...rightsIn(group ?? { role: null, projects: {}, nodeGroups: {} })
})

const userFields = {
  name: z.string().trim().min(1, texts.required).pipe(NewUser.shape.name),
  groups: z.array(GroupId),
  ...rightsFields
}

export const UserForm = z
  .discriminatedUnion('kind', [
    z.object({ ...userFields, kind: z.literal('person'), password: Password }),
    z.object({ ...userFields, kind: z.literal('service'), password: z.string() })
  ])
  .refine((user) => user.groups.length > 0 || hasRole(user), NO_ROLE)
  .transform(({ password, name, kind, groups, ...rights }): NewUser => {
    const user = { name, kind, groups, ...toRights(rights) }
    return kind === 'service' ? user : { ...user, password }
  })

export interface UserTexts extends Omit<z.input<typeof UserForm>, 'kind'> {
  kind: NewUser['kind']
}

export const startUser = (): UserTexts => ({
  name: '',
  kind: 'person',
  role: 'viewer',
  projects: [],
  nodeGroups: [],
  groups: [],
  password: ''
})

export const SetPasswordForm = z.object({ password: Password })

export const ChangePasswordForm = z.object({ current: z.string().min(1, texts.required), password: Password })

export const CurrentPasswordForm = z.object({ current: z.string().min(1, texts.required) })

/** Some apps show the code with a space in the middle. */
export const CodeForm = z.object({
  code: z
    .string()
    .transform((code) => code.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^\d{6}$/, texts.sixDigits))
})

export const PasskeyForm = CurrentPasswordForm.extend({
  name: z.string().trim().min(1, texts.required).pipe(NewAccessToken.shape.name)
})

export const EXPIRIES = {
  '30': texts.days(30),
  '90': texts.days(90),
  '365': texts.days(365),
  never: texts.neverExpires
} as const

/** An empty `userId` means the caller. */
export const TokenForm = z
  .object({
    name: z.string().trim().min(1, texts.required).pipe(NewAccessToken.shape.name),
    userId: z.literal('').or(UserId),
    role: z.string(),
    /** Empty: all of the user's projects. */
    projects: z.array(z.string().trim().min(1)).max(200),
    /** Empty: all of the user's node groups, or none if the token is for certain projects. */
    nodeGroups: z.array(z.string().trim().min(1)).max(200),
    expiry: z.enum(Object.keys(EXPIRIES) as (keyof typeof EXPIRIES)[])
  })
  .transform(
    ({ userId, expiry, projects, nodeGroups, ...token }): NewAccessToken => ({
      ...token,
      projects: projects.length === 0 ? null : (projects as NonNullable<NewAccessToken['projects']>),
      nodeGroups: nodeGroups.length === 0 ? null : nodeGroups,
      ...(userId !== '' && { userId }),
      expiresInDays: expiry === 'never' ? null : Number(expiry)
    })
  )

export type TokenTexts = z.input<typeof TokenForm>

export const startToken = (): TokenTexts => ({
  name: '',
  userId: '',
  role: 'viewer',
  projects: [],
  nodeGroups: [],
  expiry: '90'
})

/** All permissions that these roles (the user's own and those from groups) give in any project. */
export const permissionsOfRoles = (
  given: readonly Pick<User, 'role' | 'projects'>[],
  roles: readonly AccessRole[]
): Permissions =>
  given
    .flatMap(({ role, projects }) => [...(role === null ? [] : [role]), ...Object.values<string>(projects)])
    .flatMap(rolesIn)
    .reduce((all, name) => unite(all, setOfRole(roles, name)), NONE)

export const permissionsOfMe = ({ permissions: { everywhere, projects } }: Me): Permissions =>
  permissionsOf([...(everywhere ?? []), ...Object.values(projects).flat()])

/**
 * Preselects one of the user's roles for a token. A program gets its most powerful role, because its roles are meant
 * for its tokens. For other users, keeps the chosen role if they have it.
 */
export function roleFor(user: Pick<User, 'kind'> | undefined, chosen: string, among: readonly AccessRole[]): string {
  const size = (role: AccessRole | undefined) => role?.permissions.length ?? 0
  if (user?.kind === 'service') {
    return (
      among.reduce<AccessRole | undefined>((most, one) => (size(one) > size(most) ? one : most), undefined)?.name ??
      'viewer'
    )
  }
  return among.some(({ name }) => name === chosen) ? chosen : 'viewer'
}
