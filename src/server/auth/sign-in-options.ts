import type { ProjectName } from '../../shared/contract/index.ts'
import type { NodeGroupRole } from '../../shared/roles.ts'

/** Roles of a group's members: in all projects (null: only in some), in single projects, and with nodes. */
export interface GroupRights {
  role: string | null
  projects: Record<ProjectName, string>
  /** By tag of nodes. */
  nodeGroups: Record<string, NodeGroupRole>
}

/** A user in several groups has the roles of all of them; a user in none is refused. */
export type GroupRoles = ReadonlyMap<string, GroupRights>

export interface OidcOptions {
  issuer: string
  clientId: string
  /** null: a public client, which uses only PKCE. */
  clientSecret: string | null
  scopes: string
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
  /** On the button: Sign in with … */
  label: string
  /** Fixed lifetime of sessions, because groups are read only at login. */
  sessionMs: number
}

/** The issuer of tokens that programs send as `Authorization: Bearer`. */
export interface JwtOptions {
  issuer: string
  audience: string
  /** null: from the issuer's discovery document. */
  jwksUrl: string | null
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
}

/** A proxy that authenticates users and forwards their requests. */
export interface ProxyOptions {
  userHeader: string
  groupsHeader: string
  /** The only character that ends the name of a group: names may contain all others. */
  groupsSeparator: ',' | ';' | '|' | ' '
  roles: GroupRoles
  from: readonly string[]
}

export interface SignInOptions {
  oidc: OidcOptions | null
  jwt: JwtOptions | null
  proxy: ProxyOptions | null
  /** The roles of users whose passwords a plugin checks. */
  pluginRoles: GroupRoles
  /** Where browsers reach this Scrapdeck, without a path; null: at the host of their request. */
  publicUrl: string | null
  /** Users with a password here and without a second factor set up an authenticator app at their next login. */
  requiresSecondFactor: boolean
}

export const NO_SIGN_IN: SignInOptions = {
  oidc: null,
  jwt: null,
  proxy: null,
  pluginRoles: new Map(),
  publicUrl: null,
  requiresSecondFactor: false
}
