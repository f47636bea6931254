import type { AccessToken, AccessTokenId, NewAccessToken } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredAccessToken } from '../store/records.ts'
import type { Directory } from './directory.ts'
import { OWNER, type Principal } from './principal.ts'
import { highestRole, roleIn } from './rights.ts'
import { endingOf, hashTokenText, makeTokenText } from './token-text.ts'
import { needsPassword } from './user-commands.ts'

const TOKENS_EACH_MAX = 200
export const DAY_MS = 86_400_000

/** Without what has a default. */
export type GivenToken = Pick<NewAccessToken, 'name' | 'userId' | 'role' | 'expiresInDays'> & Partial<NewAccessToken>

/** What users do with their tokens, and owners with those of all. */
export class TokenCommands {
  readonly #directory: Directory
  readonly #parts: { clock: Clock; random: Random }

  constructor(directory: Directory, parts: { clock: Clock; random: Random }) {
    this.#directory = directory
    this.#parts = parts
  }

  /** Those that this principal may see: its own, or all. */
  list(by: Principal): AccessToken[] {
    return this.#directory.tokens.filter((token) => mayManage(by, token)).map(describeToken)
  }

  /** Rejects with PASSWORD_REQUIRED, ROLE_REQUIRED, USER_NOT_FOUND, BAD_INPUT. */
  create(by: Principal, wanted: GivenToken): Promise<{ secret: string; token: AccessToken }> {
    return this.#directory.inTurn(async () => {
      const userId = wanted.userId ?? by.userId
      if (by.tokenId !== null) throw needsPassword('A token cannot create another one')
      if (userId !== by.userId && by.role !== 'owner') throw refusal('Only an owner creates tokens for others', by.role)
      const owner = userId === null ? OWNER : this.#directory.requireUser(userId)
      const rights = userId === null ? OWNER.rights : this.#directory.rightsOf(userId)
      const highest = highestRole(rights)
      if (highest === null) throw new ScrapdeckError('BAD_INPUT', `${owner.name} has no role: a token could do nothing`)
      const role = wanted.role ?? highest
      if (!includesRole(highest, role)) throw refusal(`A token of ${owner.name} cannot have the role ${role}`, highest)
      const foreign = wanted.projects?.find((project) => roleIn(rights, project) === null)
      if (foreign !== undefined) throw refusal(`${owner.name} has no role in the project ${foreign}`, highest)
      if (this.#directory.tokensOf(userId).length >= TOKENS_EACH_MAX) {
        throw new ScrapdeckError('BAD_INPUT', `A user can have ${TOKENS_EACH_MAX} tokens. Revoke some first`)
      }
      const { clock, random } = this.#parts
      const nowMs = clock.nowMs()
      const secret = makeTokenText()
      const token: StoredAccessToken = {
        ...{ id: random.hex(16) as AccessTokenId, userId, name: wanted.name, role },
        ...{ projects: wanted.projects ?? null, nodeGroups: wanted.nodeGroups ?? null },
        ...{ hash: hashTokenText(secret), ending: endingOf(secret), createdAtMs: nowMs, lastUsedAtMs: null },
        expiresAtMs: wanted.expiresInDays === null ? null : nowMs + wanted.expiresInDays * DAY_MS
      }
      await this.#directory.addToken(token)
      return { secret, token: describeToken(token) }
    })
  }

  /** Rejects with TOKEN_NOT_FOUND, also for those of others that this principal may not see. */
  revoke(by: Principal, id: AccessTokenId): Promise<boolean> {
    return this.#directory.inTurn(async () => {
      const token = this.#directory.token(id)
      if (token === undefined || !mayManage(by, token)) {
        throw new ScrapdeckError('TOKEN_NOT_FOUND', `There is no token ${id}; it may have been revoked`)
      }
      return this.#directory.deleteToken(token)
    })
  }
}

/** An owner all, others their own; a token of less than an owner only itself, or it could end stronger ones. */
function mayManage({ role, userId, tokenId }: Principal, token: StoredAccessToken): boolean {
  if (role === 'owner') return true
  return tokenId === null ? token.userId === userId : token.id === tokenId
}

function refusal(text: string, role: Role): ScrapdeckError {
  return new ScrapdeckError('ROLE_REQUIRED', `${text}.`, { data: { role } })
}

function describeToken({ hash: _, ...token }: StoredAccessToken): AccessToken {
  return token
}
