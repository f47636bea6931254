import { z } from 'zod'
import {
  type AccessRole,
  type Me,
  NewAccessToken,
  NewUser,
  type User,
  UserChanges,
  UserId
} from '../../../shared/contract/index.ts'
import { NONE, type Permissions, permissionsOf, unite } from '../../../shared/permissions.ts'
import { rolesIn } from '../../../shared/roles.ts'
import { setOfRole } from './role-words.ts'

const Password = UserChanges.shape.password.unwrap()

export const PASSWORD_HELP =
  'At least 15 characters of any kind: length is what makes a password hard to guess. Several unrelated words are good.'

const rightsFields = {
  /** `none`: in none but the projects that are named. */
  role: z.string(),
  projects: z
    .array(z.object({ project: z.string().trim(), role: z.string() }))
    .refine((rows) => new Set(rows.map(({ project }) => project)).size === rows.length, 'A project is named twice')
    .refine((rows) => rows.every(({ project }) => project !== ''), 'Name each project, or remove its row')
}

function toRights({ role, projects }: { role: string; projects: { project: string; role: string }[] }) {
  const byProject = Object.fromEntries(projects.map((row) => [row.project, row.role])) as User['projects']
  return { role: role === 'none' ? null : role, projects: byProject }
}

const hasRole = ({ role, projects }: { role: string; projects: unknown[] }) => role !== 'none' || projects.length > 0
const NO_ROLE = { error: 'Add a project, or choose a role in all of them', path: ['projects'] }

export const RightsForm = z.object(rightsFields).refine(hasRole, NO_ROLE).transform(toRights)
export type RightsTexts = z.input<typeof RightsForm>

export const rightsIn = ({ role, projects }: Pick<User, 'role' | 'projects'>): RightsTexts => ({
  role: role ?? 'none',
  projects: Object.entries(projects).map(([project, one]) => ({ project, role: one }))
})

const userFields = { name: z.string().trim().min(1, 'Required').pipe(NewUser.shape.name), ...rightsFields }

/** A person logs in with a password; a service has tokens instead. */
export const UserForm = z
  .discriminatedUnion('kind', [
    z.object({ ...userFields, kind: z.literal('person'), password: Password }),
    z.object({ ...userFields, kind: z.literal('service'), password: z.string() })
  ])
  .refine(hasRole, NO_ROLE)
  .transform(({ password, name, kind, ...rights }): NewUser => {
    const user = { name, kind, ...toRights(rights) }
    return kind === 'service' ? user : { ...user, password }
  })

export interface UserTexts extends Omit<z.input<typeof UserForm>, 'kind'> {
  kind: NewUser['kind']
}

export const startUser = (): UserTexts => ({ name: '', kind: 'person', role: 'viewer', projects: [], password: '' })

export const SetPasswordForm = z.object({ password: Password })

export const ChangePasswordForm = z.object({ current: z.string().min(1, 'Required'), password: Password })

/** Days, as the options of a select. */
export const EXPIRIES = { '30': '30 days', '90': '90 days', '365': '365 days', never: 'Never' } as const

/** In `userId`, an empty text is the caller. */
export const TokenForm = z
  .object({
    name: z.string().trim().min(1, 'Required').pipe(NewAccessToken.shape.name),
    userId: z.literal('').or(UserId),
    role: z.string(),
    /** None: all of the user's. */
    projects: z.array(z.string().trim().min(1)).max(200),
    expiry: z.enum(Object.keys(EXPIRIES) as (keyof typeof EXPIRIES)[])
  })
  .transform(
    ({ userId, expiry, projects, ...token }): NewAccessToken => ({
      ...token,
      projects: projects.length === 0 ? null : (projects as NonNullable<NewAccessToken['projects']>),
      ...(userId !== '' && { userId }),
      expiresInDays: expiry === 'never' ? null : Number(expiry)
    })
  )

export type TokenTexts = z.input<typeof TokenForm>

/** A new token may as little as possible, until somebody chooses otherwise. */
export const startToken = (): TokenTexts => ({ name: '', userId: '', role: 'viewer', projects: [], expiry: '90' })

/** All that this user may do anywhere. */
export const permissionsOfUser = (
  { role, projects }: Pick<User, 'role' | 'projects'>,
  roles: readonly AccessRole[]
): Permissions =>
  [...(role === null ? [] : [role]), ...Object.values<string>(projects)]
    .flatMap(rolesIn)
    .reduce((all, name) => unite(all, setOfRole(roles, name)), NONE)

/** The same of whoever looks at the page. */
export const permissionsOfMe = ({ permissions: { everywhere, projects } }: Me): Permissions =>
  permissionsOf([...(everywhere ?? []), ...Object.values(projects).flat()])

/**
 * The role of a token after its user was chosen, among those that the user has: a program has a user of its own, whose
 * role was chosen for it, so its token gets the largest; for others the chosen one stays if it is among them.
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
