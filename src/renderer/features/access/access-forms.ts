import { z } from 'zod'
import { NewAccessToken, NewUser, type User, UserChanges, UserId } from '../../../shared/contract/index.ts'
import { lesserRole, PROJECT_ROLES, type ProjectRole, ROLES, type Role } from '../../../shared/roles.ts'

const Password = UserChanges.shape.password.unwrap()

export const PASSWORD_HELP =
  'At least 15 characters of any kind: length is what makes a password hard to guess. Several unrelated words are good.'

/** `none`: in none but the projects that are named. */
export type RoleOrNone = Role | 'none'

const rightsFields = {
  role: z.enum([...ROLES, 'none']),
  projects: z
    .array(z.object({ project: z.string().trim(), role: z.enum(PROJECT_ROLES) }))
    .refine((rows) => new Set(rows.map(({ project }) => project)).size === rows.length, 'A project is named twice')
    .refine((rows) => rows.every(({ project }) => project !== ''), 'Name each project, or remove its row')
}

function toRights({ role, projects }: { role: RoleOrNone; projects: { project: string; role: ProjectRole }[] }) {
  const byProject = Object.fromEntries(projects.map((row) => [row.project, row.role])) as User['projects']
  return { role: role === 'none' ? null : role, projects: byProject }
}

const hasRole = ({ role, projects }: { role: RoleOrNone; projects: unknown[] }) =>
  role !== 'none' || projects.length > 0
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

export const CurrentPasswordForm = z.object({ current: z.string().min(1, 'Required') })

/** Some apps show a space in the middle. */
export const CodeForm = z.object({
  code: z
    .string()
    .transform((code) => code.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^\d{6}$/, 'The app shows six digits'))
})

export const PasskeyForm = CurrentPasswordForm.extend({
  name: z.string().trim().min(1, 'Required').pipe(NewAccessToken.shape.name)
})

/** Days, as the options of a select. */
export const EXPIRIES = { '30': '30 days', '90': '90 days', '365': '365 days', never: 'Never' } as const

/** In `userId`, an empty text is the caller. */
export const TokenForm = z
  .object({
    name: z.string().trim().min(1, 'Required').pipe(NewAccessToken.shape.name),
    userId: z.literal('').or(UserId),
    role: z.enum(ROLES),
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

/**
 * The role of a token after its user was chosen: a program has a user of its own, whose role was chosen for it; for
 * others the chosen one stays, as far as that user has it.
 */
export function roleFor(user: Pick<User, 'kind' | 'role' | 'projects'> | undefined, chosen: Role, own: Role): Role {
  if (user === undefined) return lesserRole(chosen, own)
  return user.kind === 'service' ? highestRoleOf(user) : lesserRole(chosen, highestRoleOf(user))
}

/** That it has anywhere. */
export const highestRoleOf = ({ role, projects }: Pick<User, 'role' | 'projects'>): Role =>
  ROLES.findLast((one) => one === role || Object.values(projects).some((other) => other === one)) ?? 'viewer'
