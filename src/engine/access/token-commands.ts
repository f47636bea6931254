import type { AccessToken, AccessTokenId, NewAccessToken, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { includes, NONE, type Permissions } from '../../shared/permissions.ts'
import { leastRoleWith, nodePermissionsIn, rolesIn } from '../../shared/roles.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredAccessToken } from '../model/records.ts'
import type { Directory, InTurn } from './directory.ts'
import { OWNER, type Principal } from './principal.ts'
import { managesUsers, permissionsIn, type Rights } from './rights.ts'
import type { RightsOfUsers } from './rights-of-users.ts'
import type { Roles } from './roles.ts'
import { needsPassword } from './passwords.ts'
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKEN_PREFIX } from '../../shared/secret-values.ts'

const TOKENS_EACH_MAX = 200
export const DAY_MS = 86_400_000

export type GivenToken = Pick<NewAccessToken, 'name' | 'userId' | 'role' | 'expiresInDays'> & Partial<NewAccessToken>

export type GrantedToken = Partial<Pick<NewAccessToken, 'userId' | 'role' | 'projects' | 'nodeGroups'>>

export interface TokenCommandsParts {
  directory: Directory
  inTurn: InTurn
  roles: Roles
  rights: RightsOfUsers
  clock: Clock
  random: Random
}

export class TokenCommands {
  readonly #directory: Directory
  readonly #parts: TokenCommandsParts

  constructor(parts: TokenCommandsParts) {
    this.#directory = parts.directory
    this.#parts = parts
  }

  list(by: Principal): AccessToken[] {
    return this.#directory.tokens.filter((token) => mayManage(by, token)).map(describeToken)
  }

  /** Rejects with PASSWORD_REQUIRED, ROLE_REQUIRED, USER_NOT_FOUND or BAD_INPUT. `check`: see Access.inTurn. */
  create(by: Principal, wanted: GivenToken, check?: () => void): Promise<{ secret: string; token: AccessToken }> {
    return this.#parts.inTurn(async () => {
      const { userId, role } = this.requireGrantable(by, wanted)
      if (this.#directory.tokensOf(userId).length >= TOKENS_EACH_MAX) {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_tokens', { tokensEachMax: TOKENS_EACH_MAX }))
      }
      const { clock, random } = this.#parts
      const nowMs = clock.nowMs()
      const secret = makeTokenText()
      const token: StoredAccessToken = {
        id: random.hex(16) as AccessTokenId,
        userId,
        name: wanted.name,
        role,
        projects: wanted.projects ?? null,
        nodeGroups: wanted.nodeGroups ?? null,
        hash: hashTokenText(secret),
        ending: endingOf(secret),
        createdAtMs: nowMs,
        lastUsedAtMs: null,
        expiresAtMs: wanted.expiresInDays === null ? null : nowMs + wanted.expiresInDays * DAY_MS
      }
      await this.#directory.addToken(token)
      return { secret, token: describeToken(token) }
    }, check)
  }

  /**
   * Throws PASSWORD_REQUIRED, ROLE_REQUIRED, USER_NOT_FOUND or BAD_INPUT unless the principal may create this token.
   */
  requireGrantable(by: Principal, wanted: GrantedToken): { userId: UserId | null; role: string } {
    const userId = wanted.userId ?? by.userId
    if (by.tokenId !== null) throw needsPassword('A token cannot create another one')
    if (userId !== by.userId && !managesUsers(by.rights)) throw refusal(sentence('access.tokens_for_others'))
    const owner = userId === null ? OWNER : this.#directory.requireUser(userId)
    const rights = userId === null ? OWNER.rights : this.#parts.rights.ofUser(userId)
    if (rights.anywhere === NONE) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.token_without_role', { owner: owner.name }))
    }
    const { roles } = this.#parts
    if (wanted.role !== undefined) roles.requireRole(wanted.role, 'role')
    const role = wanted.role ?? this.#roleWithAllOf(userId, rights)
    if (wanted.role !== undefined && !canHave(rights, roles.setOf(role))) {
      throw refusal(sentence('access.token_above_owner', { owner: owner.name, role }))
    }
    const foreign = wanted.projects?.find((project) => permissionsIn(rights, project) === null)
    if (foreign !== undefined)
      throw refusal(sentence('access.no_role_in_project', { user: owner.name, project: foreign }))
    const strange = wanted.nodeGroups?.find((tag) => rights.everywhere === null && !rights.inNodeGroups.has(tag))
    if (strange !== undefined)
      throw refusal(sentence('access.no_role_in_node_group', { user: owner.name, nodeGroup: strange }))
    return { userId, role }
  }

  #roleWithAllOf(userId: UserId | null, { anywhere }: Rights): string {
    const { roles, rights } = this.#parts
    const own = userId === null ? 'owner' : rights.shownRoleOf(userId)
    return rolesIn(own).length === 1 && includes(roles.setOf(own), anywhere) ? own : leastRoleWith(anywhere)
  }

  /** Rejects with TOKEN_NOT_FOUND, also for tokens that this principal may not see. */
  revoke(by: Principal, id: AccessTokenId): Promise<boolean> {
    return this.#parts.inTurn(async () => {
      const token = this.#directory.token(id)
      if (token === undefined || !mayManage(by, token)) {
        throw new ScrapdeckError('TOKEN_NOT_FOUND', sentence('access.no_token', { id }))
      }
      return this.#directory.deleteToken(token)
    })
  }
}

/**
 * Owners manage all tokens, other users their own. A token without owner rights manages only itself, because otherwise
 * it could revoke more powerful tokens.
 */
function mayManage({ rights, userId, tokenId }: Principal, token: StoredAccessToken): boolean {
  if (managesUsers(rights)) return true
  return tokenId === null ? token.userId === userId : token.id === tokenId
}

/**
 * Whether a user with these rights can have a token with these permissions. If the user has roles only for nodes,
 * permissions on nodes are enough.
 */
function canHave({ anywhere, everywhere, inProjects }: Rights, permissions: Permissions): boolean {
  if (includes(anywhere, permissions)) return true
  return everywhere === null && inProjects.size === 0 && includes(anywhere, nodePermissionsIn(permissions))
}

function refusal(text: Sentence): ScrapdeckError {
  return new ScrapdeckError('ROLE_REQUIRED', text)
}

function describeToken({ hash: _, ...token }: StoredAccessToken): AccessToken {
  return token
}

const SECRET_BYTES = 32
const FORM = /^sdk_([\w-]{43})([0-9a-f]{8})$/

/** Creates the text of a token. Its checksum distinguishes a mistyped token from a revoked one. */
export function makeTokenText(): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return `${TOKEN_PREFIX}${secret}${checksum(secret)}`
}

export const looksLikeToken = (text: string): boolean => text.startsWith(TOKEN_PREFIX)

export function isTokenText(text: string): boolean {
  const match = FORM.exec(text)
  return match !== null && checksum(match[1]!) === match[2]
}

/** A token has so many random bits that a fast hash is as safe as a slow one. */
export const hashTokenText = (text: string): string => hash('sha256', text)

const endingOf = (text: string): string => text.slice(-8)

const checksum = (secret: string): string => crc32(secret).toString(16).padStart(8, '0')
