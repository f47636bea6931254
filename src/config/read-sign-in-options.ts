import { isLoopback } from '../server/auth/host-rule.ts'
import type {
  GroupRights,
  GroupRoles,
  JwtOptions,
  OidcOptions,
  ProxyOptions,
  SignInOptions
} from '../server/auth/sign-in-options.ts'
import { NodeTag, RoleName } from '../shared/contract/index.ts'
import {
  isBuiltInRole,
  isProjectRole,
  NODE_GROUP_ROLES,
  type NodeGroupRole,
  PROJECT_ROLES,
  ROLES
} from '../shared/roles.ts'
import { type OptionReader, readPasswordFile } from './option-reader.ts'
import { readNetworks } from './read-access-options.ts'
import type { ConfiguredValue } from './read-files.ts'

const DEFAULT_SCOPES = 'openid profile email'
const DEFAULT_NAME_CLAIM = 'preferred_username'
const DEFAULT_GROUPS_CLAIM = 'groups'
const DEFAULT_SESSION_HOURS = 12
const MAX_SESSION_HOURS = 720

export function readSignInOptions(options: OptionReader): SignInOptions {
  return {
    oidc: readOidc(options),
    jwt: readJwt(options),
    proxy: readProxy(options),
    pluginRoles: readRoles(options, 'plugin_roles'),
    publicUrl: readPublicUrl(options),
    requiresSecondFactor: options.switch('require_second_factor')
  }
}

function readOidc(options: OptionReader): OidcOptions | null {
  const text = textsOf(options)
  const issuer = readAddress(options, 'oidc_issuer')
  const clientId = text('oidc_client_id')
  const secret = readSecret(options)
  const scopes = text('oidc_scopes', DEFAULT_SCOPES)
  const [nameClaim, groupsClaim] = readClaims(options, 'oidc')
  const roles = readRoles(options, 'oidc_roles')
  const host = issuer === null ? '' : new URL(issuer).host
  const label = text('oidc_label', host)
  const hours = options.number('oidc_session_hours', DEFAULT_SESSION_HOURS, { least: 1, most: MAX_SESSION_HOURS })
  if (issuer === null) return null
  const picked = options.pick('scrapdeck', 'oidc_issuer')!
  if (clientId === '') options.refuse(picked, 'oidc_issuer needs oidc_client_id: register Scrapdeck at the provider.')
  if (!scopes.split(/\s+/).includes('openid')) options.refuse(picked, 'oidc_scopes must have the scope openid.')
  requireRoles(options, picked, roles, 'oidc')
  return {
    issuer,
    clientId,
    clientSecret: secret,
    scopes,
    nameClaim,
    groupsClaim,
    roles,
    label,
    sessionMs: hours * 3_600_000
  }
}

function readJwt(options: OptionReader): JwtOptions | null {
  const issuer = readAddress(options, 'jwt_issuer')
  const audience = textsOf(options)('jwt_audience')
  const jwksUrl = readAddress(options, 'jwt_jwks_url')
  const [nameClaim, groupsClaim] = readClaims(options, 'jwt')
  const roles = readRoles(options, 'jwt_roles')
  if (issuer === null) return null
  const picked = options.pick('scrapdeck', 'jwt_issuer')!
  if (audience === '') {
    options.refuse(picked, 'jwt_issuer needs jwt_audience: without it, tokens for other services would count here.')
  }
  requireRoles(options, picked, roles, 'jwt')
  return { issuer, audience, jwksUrl, nameClaim, groupsClaim, roles }
}

function readProxy(options: OptionReader): ProxyOptions | null {
  const text = textsOf(options)
  const userHeader = text('proxy_user_header').toLowerCase()
  const groupsHeader = text('proxy_groups_header').toLowerCase()
  const groupsSeparator = readGroupsSeparator(options)
  const networks = options.text('proxy_addresses')
  const from = readNetworks(
    options,
    networks,
    'proxy_addresses takes addresses and networks, such as "127.0.0.1 10.1.0.7"',
    'Anyone with such an address can be any user.'
  )
  const roles = readRoles(options, 'proxy_roles')
  if (userHeader === '') return null
  const picked = options.pick('scrapdeck', 'proxy_user_header')!
  if (groupsHeader === '') options.refuse(picked, 'proxy_user_header needs proxy_groups_header, which says the role.')
  for (const name of [userHeader, groupsHeader].filter((one) => one !== '' && !isHeaderName(one))) {
    options.refuse(picked, `"${name}" cannot be the name of a header that only a proxy sends.`)
  }
  if (from.length === 0) {
    options.refuse(
      picked,
      'proxy_user_header needs proxy_addresses: from anywhere else, anybody could send the header.'
    )
  }
  requireRoles(options, picked, roles, 'proxy')
  return { userHeader, groupsHeader, groupsSeparator, roles, from }
}

const SEPARATORS: ReadonlyMap<string, ProxyOptions['groupsSeparator']> = new Map([
  [',', ','],
  [';', ';'],
  ['|', '|'],
  ['space', ' ']
] as const)

/** Splits at one separator only: also splitting the group `book club; owners` at `;` would make its members owners. */
function readGroupsSeparator(options: OptionReader): ProxyOptions['groupsSeparator'] {
  const picked = options.pick('scrapdeck', 'proxy_groups_separator')
  const text = picked?.text === ' ' ? 'space' : picked?.text.trim() || ','
  options.list('scrapdeck', 'proxy_groups_separator', text, picked)
  const separator = SEPARATORS.get(text)
  if (separator === undefined)
    options.refuse(picked!, `proxy_groups_separator takes one of , ; | or the word space, not "${text}".`)
  return separator ?? ','
}

/** Rejects headers that have a meaning in HTTP, because clients can send them too. */
const isHeaderName = (name: string): boolean =>
  /^[a-z0-9][a-z0-9-]{1,60}$/.test(name) && !/^(?:authorization|cookie|host|origin|x-forwarded-.*|sec-.*)$/.test(name)

function readPublicUrl(options: OptionReader): string | null {
  const picked = options.text('public_url')
  if (picked === null || picked.text.trim() === '') return null
  const url = URL.parse(picked.text.trim())
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '')
    return url.origin
  options.refuse(picked, 'public_url is where browsers reach Scrapdeck, such as https://deck.example.org.')
  return null
}

/** Requires https, except on this machine. Returns the address as written, because issuers are compared as strings. */
function readAddress(options: OptionReader, name: string): string | null {
  const picked = options.text(name)
  const text = picked?.text.trim() ?? ''
  if (text === '') return null
  const url = URL.parse(text)
  const isHere = url !== null && isLoopback(url.hostname.replaceAll(/[[\]]/g, ''))
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) {
    if (url.username + url.password + url.hash === '') return text
  }
  options.refuse(
    picked!,
    `${name} is an https:// address without credentials, such as https://id.example.org/realms/x.`
  )
  return null
}

function readSecret(options: OptionReader): string | null {
  const secret = options.pick('scrapdeck', 'oidc_client_secret')
  options.list('scrapdeck', 'oidc_client_secret', secret === null ? '' : '(set)', secret)
  const file = options.text('oidc_client_secret_file')
  if (file === null || file.text === '') return secret?.text || null
  if (secret !== null) options.refuse(secret, 'oidc_client_secret and oidc_client_secret_file exclude each other.')
  return options.parse(file, () => readPasswordFile(file.text))
}

function readClaims(options: OptionReader, kind: 'oidc' | 'jwt'): [name: string, groups: string] {
  const text = textsOf(options)
  return [text(`${kind}_name_claim`, DEFAULT_NAME_CLAIM), text(`${kind}_groups_claim`, DEFAULT_GROUPS_CLAIM)]
}

/**
 * Parses `GROUP = ROLE`, `GROUP = ROLE in PROJECT` or `GROUP = ROLE of nodes TAG` entries, one per line or
 * separated by semicolons. The last `=` separates group and role, because directory names contain `=`.
 */
function readRoles(options: OptionReader, name: string): GroupRoles {
  const picked = options.pick('scrapdeck', name)
  const roles = new Map<string, GroupRights>()
  const words: string[] = []
  for (const entry of (picked?.text ?? '').split(/[\n;]/).filter((one) => one.trim() !== '')) {
    const at = entry.lastIndexOf('=')
    const group = entry.slice(0, Math.max(0, at)).trim()
    const given = readGivenRole(entry.slice(at + 1).trim())
    if (group === '' || typeof given === 'string') {
      const why = typeof given === 'string' ? given : WHICH
      options.refuse(picked!, `${name} takes lines such as ${FORMS}, not "${entry.trim()}". ${why}`)
      continue
    }
    const before = roles.get(group) ?? { role: null, projects: {}, nodeGroups: {} }
    const after = withGiven(before, given)
    if (after === null) options.refuse(picked!, `${name} has the group "${group}" twice${placeOf(given)}.`)
    else roles.set(group, after)
    words.push(`${group} = ${describeGiven(given)}`)
  }
  options.list('scrapdeck', name, words.join('; '), picked)
  return roles
}

type GivenRole =
  | { of: 'everywhere'; role: string }
  | { of: 'project'; role: string; project: string }
  | { of: 'nodes'; role: NodeGroupRole; tag: string }

const FORMS = '"scrapers = operator", "shop team = deployer in shop" or "eu ops = admin of nodes eu"'
const WHICH = `Roles are ${ROLES.join(', ')} and custom ones; in one project, ${PROJECT_ROLES.join(', ')} and custom ones; of nodes with one tag, ${NODE_GROUP_ROLES.join(', ')}.`

function readGivenRole(text: string): GivenRole | string {
  const [, role = '', word, place = ''] = /^(.*?)(?:\s+(in|of\s+nodes)\s+(.+))?$/.exec(text) ?? []
  if (word === undefined) return isRole(role) ? { of: 'everywhere', role } : WHICH
  if (word === 'in') {
    const mayBe = isBuiltInRole(role) ? isProjectRole(role) : isRole(role)
    return mayBe ? { of: 'project', role, project: place } : WHICH
  }
  const ofNodes = NODE_GROUP_ROLES.find((one) => one === role)
  if (ofNodes === undefined) return WHICH
  const tag = NodeTag.safeParse(place)
  return tag.success ? { of: 'nodes', role: ofNodes, tag: tag.data } : `${tag.error.issues[0]!.message}.`
}

/** Accepts any name of a custom role, because only the running service knows the custom roles (Roles.missing). */
const isRole = (text: string): boolean => isBuiltInRole(text) || RoleName.safeParse(text).success

function withGiven(before: GroupRights, given: GivenRole): GroupRights | null {
  if (given.of === 'everywhere') return before.role === null ? { ...before, role: given.role } : null
  if (given.of === 'nodes') {
    if (Object.hasOwn(before.nodeGroups, given.tag)) return null
    return { ...before, nodeGroups: { ...before.nodeGroups, [given.tag]: given.role } }
  }
  if (Object.hasOwn(before.projects, given.project)) return null
  return { ...before, projects: { ...before.projects, [given.project]: given.role } }
}

function describeGiven(given: GivenRole): string {
  if (given.of === 'everywhere') return given.role
  return given.of === 'project' ? `${given.role} in ${given.project}` : `${given.role} of nodes ${given.tag}`
}

function placeOf(given: GivenRole): string {
  if (given.of === 'everywhere') return ''
  return given.of === 'project' ? ` for ${given.project}` : ` for nodes ${given.tag}`
}

function requireRoles(options: OptionReader, picked: ConfiguredValue, roles: GroupRoles, kind: string): void {
  if (roles.size > 0) return
  options.refuse(picked, `${kind}_roles says which groups may do what: without it, no one can log in.`)
}

function textsOf(options: OptionReader): (name: string, otherwise?: string) => string {
  return (name, otherwise = '') => {
    const picked = options.pick('scrapdeck', name)
    const text = picked?.text.trim() || otherwise
    options.list('scrapdeck', name, text, picked)
    return text
  }
}
