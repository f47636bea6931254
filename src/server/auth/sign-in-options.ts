import type { ProjectName } from '../../shared/contract/index.ts'
import type { NodeGroupRole } from '../../shared/roles.ts'

/** The roles of a group's members: in all projects (or null), in single projects, and with nodes. */
export interface GroupRights {
  role: string | null
  projects: Record<ProjectName, string>
  nodeGroups: Record<string, NodeGroupRole>
}

/** A user in several groups has the roles of all of them. A user without a group is rejected. */
export type GroupRoles = ReadonlyMap<string, GroupRights>

export interface OidcOptions {
  issuer: string
  clientId: string
  /** null for a public client, which only PKCE protects. */
  clientSecret: string | null
  scopes: string
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
  label: string
  /** The duration of sessions. It cannot be extended, because groups are only read at login. */
  sessionMs: number
}

export interface JwtOptions {
  issuer: string
  audience: string
  /** null to use the issuer's discovery document. */
  jwksUrl: string | null
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
}

export interface ProxyOptions {
  userHeader: string
  groupsHeader: string
  /** The separator of groups in the header. Group names can contain all other characters. */
  groupsSeparator: ',' | ';' | '|' | ' '
  roles: GroupRoles
  from: readonly string[]
}

export interface SignInOptions {
  oidc: OidcOptions | null
  jwt: JwtOptions | null
  proxy: ProxyOptions | null
  pluginRoles: GroupRoles
  /** The address where browsers reach this Scrapdeck, without a path. null for the host of each request. */
  publicUrl: string | null
  /** Whether users with a local password but no second factor must set up an authenticator app at their next login. */
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
