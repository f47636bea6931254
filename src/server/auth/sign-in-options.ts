import type { ProjectName } from '../../shared/contract/index.ts'
import type { NodeGroupRole } from '../../shared/roles.ts'

/** What the members of a group may do: in all projects (null: only in some), more in single ones, and with nodes. */
export interface GroupRights {
  role: string | null
  projects: Record<ProjectName, string>
  /** By tag of nodes. */
  nodeGroups: Record<string, NodeGroupRole>
}

/** A user in several groups has the roles of all of them; a user in none is refused. */
export type GroupRoles = ReadonlyMap<string, GroupRights>

/** An OpenID Connect provider at which people sign in. */
export interface OidcOptions {
  issuer: string
  clientId: string
  /** null: a public client, which has only PKCE. */
  clientSecret: string | null
  scopes: string
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
  /** On the button: Sign in with … */
  label: string
  /** However much it is used, a session ends after that: groups are asked for at each login. */
  sessionMs: number
}

/** Who signs tokens that programs send as `Authorization: Bearer`. */
export interface JwtOptions {
  issuer: string
  audience: string
  /** null: where the issuer's discovery document says. */
  jwksUrl: string | null
  nameClaim: string
  groupsClaim: string
  roles: GroupRoles
}

/** A proxy that has authenticated whom it forwards. */
export interface ProxyOptions {
  userHeader: string
  groupsHeader: string
  /** The only character that ends the name of a group: names may contain all others. */
  groupsSeparator: ',' | ';' | '|' | ' '
  roles: GroupRoles
  /** The addresses of the proxy itself. */
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
  /** People with a password here set up an authenticator app at their next login, unless they have one. */
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
