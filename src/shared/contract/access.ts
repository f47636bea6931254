import { z } from 'zod'
import { PERMISSIONS } from '../permissions.ts'
import { NODE_GROUP_ROLES, PROJECT_ROLES, ROLES } from '../roles.ts'
import { AccessTokenId, AnyProjectName, GroupId, ProjectName, ShownName, UserId } from './ids.ts'
import { read, write } from './operation.ts'
import { NodeTag } from './settings.ts'
import { CHALLENGE, LOOPBACK_REDIRECT, SIGN_IN_CLIENTS, type SignInClient } from '../sign-in.ts'

const GivenRole = z.string().min(1).max(64)
/** A user from an identity provider can have several roles: `operator + shop keeper`. */
const ShownRole = z.string()

const KnownPermission = z.enum(PERMISSIONS)

const ProjectRoles = z.record(ProjectName, GivenRole).refine((all) => Object.keys(all).length <= 200, {
  error: 'There can be roles in 200 single projects'
})
const ShownProjectRoles = z.record(AnyProjectName, ShownRole)

/** The roles in node groups. A node group contains all nodes with one tag. */
const NodeGroupRoles = z
  .record(NodeTag, z.enum(NODE_GROUP_ROLES))
  .refine((all) => Object.keys(all).length <= 200, { error: 'There can be roles in 200 node groups' })
const ShownNodeGroupRoles = z.record(z.string(), z.enum(NODE_GROUP_ROLES))

/** A user name cannot contain colons, because basic authentication uses them as separators. */
const UserName = ShownName.max(64)
  .regex(/^[^\s:]+$/, 'A user name must not contain spaces or colons')
  .refine((name) => name === name.normalize('NFKC'), {
    error: 'Write the name with plain letters: it looks like another'
  })

/** Any characters are allowed, because the length makes a password hard to guess (NIST SP 800-63B-4, 3.1.1.2). */
const NewPassword = z
  .string()
  .min(15, 'Use at least 15 characters. Several words are easier to remember than special characters')
  .max(200)

export const Me = z.object({
  /** null: the owner, through the password of the service (`scrapdeck credentials`), its socket or the desktop app. */
  userId: UserId.nullable(),
  name: z.string(),
  role: ShownRole,
  /**
   * `everywhere`: permissions in all projects. `projects`: for each project with additional permissions, all
   * permissions there.
   */
  permissions: z.object({
    everywhere: z.array(KnownPermission).nullable(),
    projects: z.record(AnyProjectName, z.array(KnownPermission)),
    nodeGroups: z.record(z.string(), z.array(KnownPermission))
  }),
  /** For clients that know only built-in roles: the highest role with no permission beyond the caller's. */
  everywhere: z.enum(ROLES).nullable(),
  projects: z.record(AnyProjectName, z.enum(PROJECT_ROLES)),
  nodeGroups: ShownNodeGroupRoles,
  groups: z.array(z.string()),
  tokenId: AccessTokenId.nullable()
})
export type Me = z.infer<typeof Me>

export const User = z.object({
  id: UserId,
  name: z.string(),
  /** A `service` is a program: it has tokens and no password. */
  kind: z.enum(['person', 'service']),
  /** The role in all projects; null: only the projects in `projects` are visible. */
  role: ShownRole.nullable(),
  projects: ShownProjectRoles,
  nodeGroups: ShownNodeGroupRoles,
  enabled: z.boolean(),
  hasPassword: z.boolean(),
  /** Whether the user needs a code from an authenticator app in addition to the password. */
  hasAuthenticator: z.boolean(),
  passkeyCount: z.number().int(),
  /** Where the user is managed. Unless this is `local`, the user's groups there determine the roles. */
  origin: z.enum(['local', 'oidc', 'proxy', 'plugin']),
  createdAtMs: z.number(),
  /** To the minute; null: never. */
  lastSeenAtMs: z.number().nullable()
})
export type User = z.infer<typeof User>

export const AccessToken = z.object({
  id: AccessTokenId,
  /** null: a token for the service's own password. */
  userId: UserId.nullable(),
  name: z.string(),
  /** A token has only the permissions that both this role and its user's roles give. */
  role: ShownRole,
  projects: z.array(AnyProjectName).nullable(),
  nodeGroups: z.array(z.string()).nullable(),
  ending: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number().nullable(),
  /** To the minute; null: never. */
  lastUsedAtMs: z.number().nullable()
})
export type AccessToken = z.infer<typeof AccessToken>

export const Session = z.object({
  id: z.string(),
  /** null: the service's own password. */
  userId: UserId.nullable(),
  userName: z.string(),
  /** `link`: a one-time login link. `oidc`: the identity provider. */
  signedInWith: z.enum(['password', 'link', 'oidc', 'passkey']),
  createdAtMs: z.number(),
  /** The session also ends after seven days without a request. */
  endsAtMs: z.number(),
  lastSeenAtMs: z.number(),
  address: z.string(),
  userAgent: z.string(),
  isCurrent: z.boolean()
})
export type Session = z.infer<typeof Session>

export const NewUser = z.object({
  name: UserName,
  kind: z.enum(['person', 'service']).default('person'),
  /** The role in all projects; null: only the roles in `projects`. */
  role: GivenRole.nullable(),
  projects: ProjectRoles.default({}),
  nodeGroups: NodeGroupRoles.default({}),
  groups: z.array(GroupId).max(200).default([]),
  /** If absent, the user cannot log in, but can have tokens. */
  password: NewPassword.optional()
})
export type NewUser = z.infer<typeof NewUser>

export const UserChanges = z.object({
  role: GivenRole.nullable().optional(),
  /** Replaces all roles in projects. */
  projects: ProjectRoles.optional(),
  /** Replaces all roles in node groups. */
  nodeGroups: NodeGroupRoles.optional(),
  enabled: z.boolean().optional(),
  password: NewPassword.optional()
})
export type UserChanges = z.infer<typeof UserChanges>

export const NewAccessToken = z.object({
  name: ShownName.max(100),
  /** The user of the token; absent: the caller. Only an owner can create tokens for others. */
  userId: UserId.optional(),
  /** Absent: all permissions that the user has now. */
  role: GivenRole.optional(),
  projects: z.array(ProjectName).min(1).max(200).nullable().default(null),
  /** null: all node groups in which the user has a role, unless the token is limited to some projects. */
  nodeGroups: z.array(NodeTag).min(1).max(200).nullable().default(null),
  /** null: the token does not expire. */
  expiresInDays: z.number().int().min(1).max(3_650).nullable().default(90)
})
export type NewAccessToken = z.infer<typeof NewAccessToken>

export const Group = z.object({
  id: GroupId,
  name: z.string(),
  description: z.string(),
  role: ShownRole.nullable(),
  projects: ShownProjectRoles,
  nodeGroups: ShownNodeGroupRoles,
  members: z.array(UserId),
  createdAtMs: z.number()
})
export type Group = z.infer<typeof Group>

const GroupName = ShownName.max(64).refine((name) => name === name.trim(), {
  error: 'The name begins or ends with a space'
})
const Members = z.array(UserId).max(1_000, 'A group can have 1,000 members')

export const NewGroup = z.object({
  name: GroupName,
  description: z.string().max(500).default(''),
  role: GivenRole.nullable().default(null),
  projects: ProjectRoles.default({}),
  nodeGroups: NodeGroupRoles.default({}),
  members: Members.default([])
})
export type NewGroup = z.infer<typeof NewGroup>

export const GroupChanges = z.object({
  name: GroupName.optional(),
  description: z.string().max(500).optional(),
  role: GivenRole.nullable().optional(),
  /** Replaces all roles in projects. */
  projects: ProjectRoles.optional(),
  /** Replaces all roles in node groups. */
  nodeGroups: NodeGroupRoles.optional(),
  /** Replaces all members. */
  members: Members.optional(),
  addMembers: Members.optional(),
  removeMembers: Members.optional()
})
export type GroupChanges = z.infer<typeof GroupChanges>

/**
 * A change applies from each member's next request. Responses in progress end if the member is no longer allowed to
 * receive them.
 */
export const groupsContract = {
  list: read('users.change', 'GET /groups', 'service').output(z.object({ groups: z.array(Group) })),

  create: write('users.change', 'POST /groups', 'service')
    .input(NewGroup)
    .output(z.object({ group: Group })),

  update: write('users.change', 'PATCH /groups/{id}', 'service')
    .input(GroupChanges.extend({ id: GroupId }))
    .output(z.object({ group: Group })),

  remove: write('users.change', 'DELETE /groups/{id}', 'service')
    .input(z.object({ id: GroupId }))
    .output(z.object({ removed: z.boolean() }))
}

export const usersContract = {
  me: read('read', 'GET /users/me', 'caller').output(Me),

  list: read('users.change', 'GET /users', 'service').output(z.object({ users: z.array(User) })),

  create: write('users.change', 'POST /users', 'service')
    .input(NewUser)
    .output(z.object({ user: User })),

  update: write('users.change', 'PATCH /users/{id}', 'service')
    .input(UserChanges.extend({ id: UserId }))
    .output(z.object({ user: User })),

  /** Also removes the user's tokens and ends the user's sessions. */
  remove: write('users.change', 'DELETE /users/{id}', 'service')
    .input(z.object({ id: UserId }))
    .output(z.object({ removed: z.boolean() })),

  /** Also ends the caller's sessions. */
  changePassword: write('read', 'POST /users/me/password', 'caller')
    .input(z.object({ current: z.string().max(200), password: NewPassword }))
    .output(z.object({ changed: z.literal(true) }))
}

export const tokensContract = {
  /** Lists the caller's own tokens. For an owner, lists the tokens of all users. */
  list: read('read', 'GET /tokens', 'caller').output(z.object({ tokens: z.array(AccessToken) })),

  /** Only this response contains the token itself. Rejects callers that use a token. */
  create: write('read', 'POST /tokens', 'caller', { tellsSecret: 'once' })
    .input(NewAccessToken)
    .output(z.object({ secret: z.string(), token: AccessToken })),

  /** Also ends the token's responses in progress. */
  revoke: write('read', 'DELETE /tokens/{id}', 'caller')
    .input(z.object({ id: AccessTokenId }))
    .output(z.object({ revoked: z.boolean() }))
}

export const sessionsContract = {
  /** Lists the caller's browser sessions, newest first. For an owner, lists the sessions of all users. */
  list: read('read', 'GET /sessions', 'caller').output(z.object({ sessions: z.array(Session) })),

  /** Also ends the session's responses in progress. */
  revoke: write('read', 'DELETE /sessions/{id}', 'caller')
    .input(z.object({ id: z.string().max(100) }))
    .output(z.object({ revoked: z.literal(true) }))
}

/** A program that requests a token. The fields are what the program says about itself and are not verified. */
export const SignInRequester = z.object({
  client: z.enum(Object.keys(SIGN_IN_CLIENTS) as [SignInClient, ...SignInClient[]]),
  host: ShownName.max(64),
  /** Empty: unknown. */
  user: z.union([z.literal(''), ShownName.max(64)]).default('')
})
export type SignInRequester = z.infer<typeof SignInRequester>

const UserCode = z.string().regex(/^[A-Za-z]{4}-?[A-Za-z]{4}$/, 'A code has eight letters, such as WDJB-MJHT')

export const WaitingSignIn = SignInRequester.extend({
  address: z.string(),
  beganAtMs: z.number(),
  endsAtMs: z.number()
})
export type WaitingSignIn = z.infer<typeof WaitingSignIn>

export const SignInApproval = z.object({
  /** Who gets the token: the program that has the verifier for this challenge, or the program that shows this code. */
  to: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('redirect'),
      requester: SignInRequester,
      redirectUri: z.string().regex(LOOPBACK_REDIRECT, 'must be http://127.0.0.1:PORT/callback'),
      challenge: z.string().regex(CHALLENGE, 'must be a SHA-256 in base64url')
    }),
    z.object({ kind: z.literal('code'), userCode: UserCode })
  ]),
  role: NewAccessToken.shape.role,
  projects: NewAccessToken.shape.projects,
  /** The token always expires. */
  expiresInDays: z.number().int().min(1).max(365).default(90)
})
export type SignInApproval = z.infer<typeof SignInApproval>

/** Sign-ins of programs through the user's browser. Only browser sessions can use these operations. */
export const signInsContract = {
  /** Rejects with SIGN_IN_NOT_FOUND if no pending sign-in has this code. */
  get: read('read', 'GET /sign-ins/{userCode}', 'caller')
    .input(z.object({ userCode: UserCode }))
    .output(WaitingSignIn),

  /**
   * Gives the program a token of the caller. `code` is for the redirect address and can be used once, within a
   * minute.
   */
  approve: write('read', 'POST /sign-ins', 'caller', { tellsSecret: 'again' })
    .input(SignInApproval)
    .output(z.object({ code: z.string().nullable() })),

  deny: write('read', 'DELETE /sign-ins/{userCode}', 'caller')
    .input(z.object({ userCode: UserCode }))
    .output(z.object({ denied: z.literal(true) }))
}
