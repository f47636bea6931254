import { z } from 'zod'
import { PROJECT_ROLES, ROLES } from '../roles.ts'
import { AccessTokenId, AnyProjectName, ProjectName, ShownName, UserId } from './ids.ts'
import { read, write } from './operation.ts'

export const UserRole = z.enum(ROLES)

/** Roles in single projects, more than the role in all of them. */
const ProjectRoles = z.record(ProjectName, z.enum(PROJECT_ROLES)).refine((all) => Object.keys(all).length <= 200, {
  error: 'A user can have roles of its own in 200 projects'
})
const ShownProjectRoles = z.record(AnyProjectName, z.enum(PROJECT_ROLES))

/** How a Scrapyd client and the login form send it: Basic authentication cannot carry a colon. */
const UserName = ShownName.max(64)
  .regex(/^[^\s:]+$/, 'A user name must not contain spaces or colons')
  .refine((name) => name === name.normalize('NFKC'), {
    error: 'Write the name with plain letters: it looks like another'
  })

/** Of any characters; what makes it hard to guess is its length (NIST SP 800-63B-4, 3.1.1.2). */
const NewPassword = z
  .string()
  .min(15, 'Use at least 15 characters. Several words are easier to remember than special characters')
  .max(200)

/** Who sent a request. */
export const Me = z.object({
  /** null: whoever has the password of the service (`scrapdeck credentials`), its socket or its desktop. */
  userId: UserId.nullable(),
  name: z.string(),
  /** The highest that it has anywhere. */
  role: UserRole,
  /** In all projects; null: only in those named. */
  everywhere: UserRole.nullable(),
  projects: ShownProjectRoles,
  /** The token that it was sent with; null: none. */
  tokenId: AccessTokenId.nullable()
})
export type Me = z.infer<typeof Me>

export const User = z.object({
  id: UserId,
  name: z.string(),
  /** A `service` is a program: it has tokens and no password. */
  kind: z.enum(['person', 'service']),
  /** In all projects; null: only in those named, and all others are as if they were not there. */
  role: UserRole.nullable(),
  projects: ShownProjectRoles,
  /** A user that is disabled cannot log in, and the tokens are refused. */
  enabled: z.boolean(),
  hasPassword: z.boolean(),
  /** The password needs a code of an authenticator app beside it. */
  hasAuthenticator: z.boolean(),
  passkeyCount: z.number().int(),
  /** Who knows the user: this Scrapdeck, the OIDC provider, or the proxy. Their users have the role of their groups. */
  origin: z.enum(['local', 'oidc', 'proxy']),
  createdAtMs: z.number(),
  /** Last login or use of a token, to the minute; null: never. */
  lastSeenAtMs: z.number().nullable()
})
export type User = z.infer<typeof User>

export const AccessToken = z.object({
  id: AccessTokenId,
  /** null: of the service's own password. */
  userId: UserId.nullable(),
  name: z.string(),
  /** It may do what this role and the role of its user both allow. */
  role: UserRole,
  /** The only ones that it is for; null: all. */
  projects: z.array(AnyProjectName).nullable(),
  /** The last characters of the token, to tell it from others. */
  ending: z.string(),
  createdAtMs: z.number(),
  /** null: it does not expire. */
  expiresAtMs: z.number().nullable(),
  /** To the minute; null: never. */
  lastUsedAtMs: z.number().nullable()
})
export type AccessToken = z.infer<typeof AccessToken>

export const Session = z.object({
  /** Useless for logging in. */
  id: z.string(),
  /** null: the service's own password. */
  userId: UserId.nullable(),
  userName: z.string(),
  /** `link`: a one-time login link. `oidc`: the identity provider. */
  signedInWith: z.enum(['password', 'link', 'oidc', 'passkey']),
  createdAtMs: z.number(),
  /** It also ends after seven days without a request. */
  endsAtMs: z.number(),
  /** Last request, and from where. */
  lastSeenAtMs: z.number(),
  address: z.string(),
  /** As the browser calls itself. */
  userAgent: z.string(),
  /** This request was made in it. */
  isCurrent: z.boolean()
})
export type Session = z.infer<typeof Session>

export const NewUser = z.object({
  name: UserName,
  kind: z.enum(['person', 'service']).default('person'),
  /** In all projects; null: only in those named. */
  role: UserRole.nullable(),
  projects: ProjectRoles.default({}),
  /** Of a person. Absent: the user cannot log in, but have tokens. */
  password: NewPassword.optional()
})
export type NewUser = z.infer<typeof NewUser>

export const UserChanges = z.object({
  role: UserRole.nullable().optional(),
  /** Replaces all of them. */
  projects: ProjectRoles.optional(),
  enabled: z.boolean().optional(),
  /** Ends the user's sessions. */
  password: NewPassword.optional()
})
export type UserChanges = z.infer<typeof UserChanges>

export const NewAccessToken = z.object({
  name: ShownName.max(100),
  /** Whose; absent: the caller's own. Only an owner may create tokens for others. */
  userId: UserId.optional(),
  /** Absent: that of the user. */
  role: UserRole.optional(),
  /** Only for these; null: for all in which the user has a role. */
  projects: z.array(ProjectName).min(1).max(200).nullable().default(null),
  /** null: it does not expire. */
  expiresInDays: z.number().int().min(1).max(3_650).nullable().default(90)
})
export type NewAccessToken = z.infer<typeof NewAccessToken>

export const usersContract = {
  /** Whom a request is from, and what it may do. */
  me: read('viewer', 'GET /users/me', 'caller').output(Me),

  list: read('owner', 'GET /users', 'service').output(z.object({ users: z.array(User) })),

  create: write('owner', 'POST /users', 'service')
    .input(NewUser)
    .output(z.object({ user: User })),

  /** What is absent stays as it is. */
  update: write('owner', 'PATCH /users/{id}', 'service')
    .input(UserChanges.extend({ id: UserId }))
    .output(z.object({ user: User })),

  /** With all tokens and sessions. */
  remove: write('owner', 'DELETE /users/{id}', 'service')
    .input(z.object({ id: UserId }))
    .output(z.object({ removed: z.boolean() })),

  /** Changes the caller's own password, and ends the caller's sessions. */
  changePassword: write('viewer', 'POST /users/me/password', 'caller')
    .input(z.object({ current: z.string().max(200), password: NewPassword }))
    .output(z.object({ changed: z.literal(true) }))
}

export const tokensContract = {
  /** The caller's own; an owner sees those of everybody. */
  list: read('viewer', 'GET /tokens', 'caller').output(z.object({ tokens: z.array(AccessToken) })),

  /** The token itself is in this answer and nowhere else. Refused to whoever is logged in with a token. */
  create: write('viewer', 'POST /tokens', 'caller')
    .input(NewAccessToken)
    .output(z.object({ secret: z.string(), token: AccessToken })),

  /** It is refused from then on, and what it is receiving is cut off. */
  revoke: write('viewer', 'DELETE /tokens/{id}', 'caller')
    .input(z.object({ id: AccessTokenId }))
    .output(z.object({ revoked: z.boolean() }))
}

export const sessionsContract = {
  /** Browsers that are logged in: the caller's own; an owner sees those of everybody. The newest first. */
  list: read('viewer', 'GET /sessions', 'caller').output(z.object({ sessions: z.array(Session) })),

  /** It ends at once, and what it is receiving is cut off. */
  revoke: write('viewer', 'DELETE /sessions/{id}', 'caller')
    .input(z.object({ id: z.string().max(100) }))
    .output(z.object({ revoked: z.literal(true) }))
}
