import { z } from 'zod'
import { NewAccessToken, NewUser, type User, UserChanges, UserId } from '../../../shared/contract/index.ts'
import { lesserRole, ROLES, type Role } from '../../../shared/roles.ts'

const Password = UserChanges.shape.password.unwrap()

export const PASSWORD_HELP =
  'At least 15 characters of any kind: length is what makes a password hard to guess. Several unrelated words are good.'

const userFields = { name: z.string().trim().min(1, 'Required').pipe(NewUser.shape.name), role: z.enum(ROLES) }

/** A person logs in with a password; a service has tokens instead. */
export const UserForm = z
  .discriminatedUnion('kind', [
    z.object({ ...userFields, kind: z.literal('person'), password: Password }),
    z.object({ ...userFields, kind: z.literal('service'), password: z.string() })
  ])
  .transform(({ password, ...user }): NewUser => (user.kind === 'service' ? user : { ...user, password }))

export interface UserTexts extends Omit<z.input<typeof UserForm>, 'kind'> {
  kind: NewUser['kind']
}

export const startUser = (): UserTexts => ({ name: '', kind: 'person', role: 'viewer', password: '' })

export const SetPasswordForm = z.object({ password: Password })

export const ChangePasswordForm = z.object({ current: z.string().min(1, 'Required'), password: Password })

/** Days, as the options of a select. */
export const EXPIRIES = { '30': '30 days', '90': '90 days', '365': '365 days', never: 'Never' } as const

/** In `userId`, an empty text is the caller. */
export const TokenForm = z
  .object({
    name: z.string().trim().min(1, 'Required').pipe(NewAccessToken.shape.name),
    userId: z.literal('').or(UserId),
    role: z.enum(ROLES),
    expiry: z.enum(Object.keys(EXPIRIES) as (keyof typeof EXPIRIES)[])
  })
  .transform(
    ({ userId, expiry, ...token }): NewAccessToken => ({
      ...token,
      ...(userId !== '' && { userId }),
      expiresInDays: expiry === 'never' ? null : Number(expiry)
    })
  )

export type TokenTexts = z.input<typeof TokenForm>

/** A new token may as little as possible, until somebody chooses otherwise. */
export const startToken = (): TokenTexts => ({ name: '', userId: '', role: 'viewer', expiry: '90' })

/**
 * The role of a token after its user was chosen: a program has a user of its own, whose role was chosen for it; for
 * others the chosen one stays, as far as that user has it.
 */
export const roleFor = (user: Pick<User, 'kind' | 'role'> | undefined, chosen: Role, own: Role): Role =>
  user === undefined ? lesserRole(chosen, own) : user.kind === 'service' ? user.role : lesserRole(chosen, user.role)
