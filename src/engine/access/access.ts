import { EventEmitter } from 'node:events'
import type {
  AccessToken,
  AccessTokenId,
  NewAccessToken,
  NewUser,
  User,
  UserChanges,
  UserId
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { includesRole, type ProjectRole, type Role } from '../../shared/roles.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredAccessToken, StoredUser } from '../store/records.ts'
import type { AccessStore } from '../store/store.ts'
import { actAs, addToAudit } from './acting.ts'
import { type Bearer, Bearers } from './bearers.ts'
import { Guesses } from './guesses.ts'
import { isObvious } from './obvious-password.ts'
import { freeName, nameFrom } from './outside-name.ts'
import { Passwords } from './passwords.ts'
import { OWNER, type Principal } from './principal.ts'
import { areSameRights, highestRole, narrowRights, rightsOf, roleIn } from './rights.ts'
import { endingOf, hashTokenText, isTokenText, looksLikeToken, makeTokenText } from './token-text.ts'

export interface AccessParts {
  store: AccessStore
  clock: Clock
  random: Random
  logger: Logger
  /** The user name of the service's own password, which no other user may have. */
  ownerName: string
}

/** Without what has a default. */
type Given<Thing extends { projects: unknown }> = Omit<Thing, 'projects'> & Partial<Pick<Thing, 'projects'>>

const USERS_MAX = 10_000
const TOKENS_EACH_MAX = 200
/** How often it is recorded who was seen. */
const SEEN_EVERY_MS = 60_000
const DAY_MS = 86_400_000
/**
 * Who left the provider does not log in again, so nobody says so here: tokens of its users count only this long after
 * their last login.
 */
const VOUCHED_FOR_MS = 30 * DAY_MS

/** Somebody whom an identity provider or a proxy vouches for. */
export interface Vouched {
  /** Who it is there: `oidc ISSUER SUB`, `proxy NAME`. The only thing by which the user is found again. */
  subject: string
  /** For the name of a new user. */
  name: string
  /** As the groups there say, in place of what they said before. */
  role: Role | null
  projects: StoredUser['projects']
}

/**
 * Users and their tokens: the only owner of both. All are in memory, so that a request is answered without a question
 * to the store; each change is on disk before it counts. Whoever has the data directory is not among them (OWNER).
 */
export class Access {
  readonly #parts: AccessParts
  readonly #passwords = new Passwords()
  readonly #guesses: Guesses
  readonly #users: Map<UserId, StoredUser>
  /** By folded name: anybody may ask for one. */
  readonly #idByName: Map<string, UserId>
  readonly #tokens: Map<AccessTokenId, StoredAccessToken>
  readonly #tokenByHash: Map<string, StoredAccessToken>
  readonly #idBySubject: Map<string, UserId>
  readonly #bearers: Bearers
  readonly #seenUsers = new Set<UserId>()
  readonly #usedTokens = new Set<AccessTokenId>()
  readonly #timers: Timers
  /** Changes of the same user, or of tokens, one after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly events = new EventEmitter<{ changed: [] }>()

  /** With all that are in the store. */
  constructor(parts: AccessParts, users: StoredUser[], tokens: StoredAccessToken[]) {
    this.#parts = parts
    this.#users = new Map(users.map((user) => [user.id, user]))
    this.#idByName = new Map(users.map(({ id, name }) => [foldName(name), id]))
    this.#tokens = new Map(tokens.map((token) => [token.id, token]))
    this.#tokenByHash = new Map(tokens.map((token) => [token.hash, token]))
    this.#idBySubject = new Map(users.flatMap(({ id, subject }) => (subject === null ? [] : [[subject, id]])))
    this.#bearers = new Bearers(parts.clock)
    this.#timers = new Timers(parts.clock)
    this.#guesses = new Guesses(parts.clock)
  }

  static async open(parts: AccessParts): Promise<Access> {
    const [users, tokens] = await Promise.all([parts.store.listUsers(), parts.store.listAccessTokens()])
    return new Access(parts, users, tokens)
  }

  async stop(): Promise<void> {
    this.#timers.stop()
    await this.#recordSeen()
  }

  /** Whether anybody but the owner can log in: a service without users checks no password but its own. */
  get isEmpty(): boolean {
    return this.#users.size === 0
  }

  /** null: there is no such token any more. */
  tokenName(id: AccessTokenId): string | null {
    return this.#tokens.get(id)?.name ?? null
  }

  /** A token, valid or not, or a mistyped one: no password begins like this, so none need be checked. */
  looksLikeToken(text: string): boolean {
    return looksLikeToken(text)
  }

  /** null: no valid token. */
  findByToken(text: string): Principal | null {
    if (!isTokenText(text)) return null
    const token = this.#tokenByHash.get(hashTokenText(text))
    if (token === undefined || !this.#isValid(token)) return null
    const owner = this.#principalOf(token.userId)
    if (owner === null || !this.#isVouchedFor(token.userId)) return null
    this.#markSeen(token.userId, token.id)
    return this.#principalOfToken(owner, token)
  }

  /** Of a signed token of another issuer that was verified lately; null: it must be verified. */
  findByBearer(text: string): Principal | null {
    return this.#bearers.find(text)
  }

  /** Its signature has just been verified. */
  admitBearer(text: string, bearer: Bearer): Principal {
    return this.#bearers.add(text, { ...bearer, name: nameFrom(bearer.name) || 'jwt' })
  }

  /** As `signIn`, without waiting; null: it has something to write. For a proxy, which vouches with each request. */
  findVouched({ subject, role, projects }: Vouched): Principal | null {
    const id = this.#idBySubject.get(subject)
    const user = id === undefined ? undefined : this.#users.get(id)
    if (user === undefined) return null
    if (!areSameRights(rightsOf(user.role, user.projects), rightsOf(role, projects))) return null
    if (this.#parts.clock.nowMs() - (user.vouchedAtMs ?? 0) > VOUCHED_FOR_MS / 2) return null
    const principal = this.#principalOf(user.id, Math.max(this.#parts.clock.nowMs(), user.sessionsSinceMs))
    if (principal !== null) this.#markSeen(user.id, null)
    return principal
  }

  /**
   * The user of this subject, created at the first time, with this role from now on. Never one of the same name that
   * somebody else vouches for. Rejects with UNAUTHORIZED if an owner disabled the user, and with BAD_INPUT.
   */
  signIn({ subject, name, role, projects }: Vouched): Promise<Principal> {
    return this.#inTurn(async () => {
      const nowMs = this.#parts.clock.nowMs()
      const id = this.#idBySubject.get(subject)
      const before = id === undefined ? this.#newUser(subject, name) : this.#requireUser(id)
      if (!before.enabled) {
        throw new ScrapdeckError(
          'UNAUTHORIZED',
          `The user ${before.name} is disabled. Ask an owner of this Scrapdeck.`,
          {
            data: { credentials: 'wrong' }
          }
        )
      }
      const user: StoredUser = { ...before, role, projects, vouchedAtMs: nowMs }
      const isNews =
        id === undefined || !areSameRights(rightsOf(before.role, before.projects), rightsOf(role, projects))
      if (isNews) addToAudit({ name: user.name, subject, role, projects })
      // That somebody is vouched for again is no change for the audit log.
      await (isNews ? this.#put(user) : actAs(null, () => this.#put(user)))
      this.#markSeen(user.id, null)
      return this.#principalOf(user.id, Math.max(nowMs, user.sessionsSinceMs))!
    })
  }

  /** Whoever vouches for this subject says that it has logged out. */
  endSessions(subject: string): Promise<void> {
    return this.#changeSubject(subject, (user) => user)
  }

  /** Nobody vouches for this subject any more: its sessions end, and its tokens until it logs in again. */
  disown(subject: string): Promise<void> {
    return this.#changeSubject(subject, (user) => (user.vouchedAtMs === null ? null : { ...user, vouchedAtMs: null }))
  }

  /** null: there is no such user, the password is wrong, or the user is disabled. All take the same time. */
  async findByPassword(name: string, password: string): Promise<Principal | null> {
    const user = this.#byName(name)
    const sinceMs = this.sessionStart(user?.id ?? null)
    const isRight = await this.#passwords.isRight(password, user?.passwordHash ?? null)
    if (!isRight || user === undefined) return null
    // It may have changed meanwhile.
    const now = this.#users.get(user.id)
    if (now?.passwordHash !== user.passwordHash) return null
    this.#markSeen(user.id, null)
    return this.#principalOf(user.id, sinceMs)
  }

  /** Of a session that began then; null: it has ended. `userId`: null is the owner. `isSeen`: its user is active. */
  findBySession(userId: UserId | null, beganAtMs: number, { isSeen = true } = {}): Principal | null {
    const principal = this.#principalOf(userId, beganAtMs)
    if (principal === null || !this.isCurrent(principal)) return null
    if (isSeen) this.#markSeen(userId, null)
    return principal
  }

  /** When a session of this user begins, if it begins now: never before what ended earlier ones, by another clock. */
  sessionStart(userId: UserId | null): number {
    const user = userId === null ? undefined : this.#users.get(userId)
    return Math.max(this.#parts.clock.nowMs(), user?.sessionsSinceMs ?? 0)
  }

  /** Whether what was allowed to this principal still is: false after a change of its role or password, too. */
  isCurrent({ userId, tokenId, rights, sinceMs }: Principal): boolean {
    if (userId === null && tokenId === null) return rights.everywhere === OWNER.role
    const bearer = tokenId === null ? null : this.#bearers.get(tokenId)
    if (bearer !== null) return areSameRights(bearer.rights, rights)
    const owner = this.#principalOf(userId, sinceMs)
    if (owner === null) return false
    if (tokenId === null) {
      const user = userId === null ? undefined : this.#users.get(userId)
      return areSameRights(owner.rights, rights) && (user?.sessionsSinceMs ?? 0) <= sinceMs
    }
    const token = this.#tokens.get(tokenId)
    if (token === undefined || !this.#isValid(token) || !this.#isVouchedFor(userId)) return false
    return areSameRights(narrowRights(owner.rights, token.role, token.projects), rights)
  }

  listUsers(): User[] {
    return [...this.#users.values()].map(describeUser)
  }

  /** Rejects with USER_NAME_TAKEN, BAD_INPUT. */
  createUser({ name, kind, role, projects = {}, password }: Given<NewUser>): Promise<User> {
    return this.#inTurn(async () => {
      const { clock, random, ownerName } = this.#parts
      if (kind === 'service' && password !== undefined) {
        throw new ScrapdeckError(
          'BAD_INPUT',
          `${name} is a service account: create a token for it instead of a password`
        )
      }
      if (foldName(name) === foldName(ownerName) || this.#byName(name) !== undefined) {
        throw new ScrapdeckError('USER_NAME_TAKEN', `There is already a user ${name}. Choose another name`)
      }
      this.#refuseTooMany()
      refuseNoRole(role, projects)
      refuseObvious(password, name)
      const nowMs = clock.nowMs()
      const user: StoredUser = {
        ...{ id: random.hex(16) as UserId, name, kind, role, projects, enabled: true },
        passwordHash: password === undefined ? null : await this.#passwords.hash(password),
        ...{ createdAtMs: nowMs, sessionsSinceMs: nowMs, lastSeenAtMs: null, subject: null, vouchedAtMs: null }
      }
      return this.#put(user)
    })
  }

  /** A new password, or disabling the user, ends all sessions. Rejects with USER_NOT_FOUND, BAD_INPUT. */
  updateUser(id: UserId, { role, projects, enabled, password }: UserChanges): Promise<User> {
    return this.#inTurn(async () => {
      const before = this.#requireUser(id)
      if (password !== undefined && before.kind === 'service') {
        throw new ScrapdeckError('BAD_INPUT', `${before.name} is a service account and has no password`)
      }
      if (before.subject !== null && [password, role, projects].some((one) => one !== undefined)) {
        throw new ScrapdeckError(
          'BAD_INPUT',
          `${before.name} signs in elsewhere (${originOf(before)}): the roles come from groups there, and there is no password here`
        )
      }
      refuseObvious(password, before.name)
      const rights = {
        role: role === undefined ? before.role : role,
        projects: projects ?? before.projects
      }
      refuseNoRole(rights.role, rights.projects)
      const endsSessions = password !== undefined || enabled === false
      return this.#put({
        ...{ ...before, ...rights },
        enabled: enabled ?? before.enabled,
        passwordHash: password === undefined ? before.passwordHash : await this.#passwords.hash(password),
        // A session that began in this millisecond has ended, too.
        sessionsSinceMs: endsSessions ? this.#parts.clock.nowMs() + 1 : before.sessionsSinceMs
      })
    })
  }

  /**
   * Rejects with PASSWORD_REQUIRED for a token, BAD_INPUT if the current password is wrong, and TOO_MANY_REQUESTS after
   * some that were.
   */
  async changeOwnPassword({ userId, tokenId }: Principal, current: string, password: string): Promise<void> {
    if (tokenId !== null) throw needsPassword('A token cannot change the password of its user')
    const user = userId === null ? undefined : this.#users.get(userId)
    if (user === undefined) {
      const text =
        'The password of the service itself is changed on its machine, with --password-file or SCRAPDECK_PASSWORD'
      throw new ScrapdeckError('BAD_INPUT', text)
    }
    this.#guesses.begin(user.id)
    if (!(await this.#passwords.isRight(current, user.passwordHash))) {
      throw new ScrapdeckError('BAD_INPUT', 'The current password is wrong', { data: { field: 'current' } })
    }
    this.#guesses.forget(user.id)
    await this.updateUser(user.id, { password })
  }

  /** Rejects with USER_NOT_FOUND. */
  removeUser(id: UserId): Promise<boolean> {
    return this.#inTurn(async () => {
      const { name, subject } = this.#requireUser(id)
      const isRemoved = await this.#parts.store.deleteUser(id)
      this.#users.delete(id)
      this.#idByName.delete(foldName(name))
      if (subject !== null) this.#idBySubject.delete(subject)
      for (const token of [...this.#tokens.values()]) if (token.userId === id) this.#forgetToken(token)
      this.#announce()
      return isRemoved
    })
  }

  /** Those that this principal may see: its own, or all. */
  listTokens(by: Principal): AccessToken[] {
    return [...this.#tokens.values()].filter((token) => mayManage(by, token)).map(describeToken)
  }

  /** Rejects with PASSWORD_REQUIRED, ROLE_REQUIRED, USER_NOT_FOUND, BAD_INPUT. */
  createToken(by: Principal, wanted: Given<NewAccessToken>): Promise<{ secret: string; token: AccessToken }> {
    return this.#inTurn(async () => {
      const { userId, role } = this.requireGrantable(by, wanted)
      const others = [...this.#tokens.values()].filter((token) => token.userId === userId)
      if (others.length >= TOKENS_EACH_MAX) {
        throw new ScrapdeckError('BAD_INPUT', `A user can have ${TOKENS_EACH_MAX} tokens. Revoke some first`)
      }
      const { store, clock, random } = this.#parts
      const nowMs = clock.nowMs()
      const secret = makeTokenText()
      const token: StoredAccessToken = {
        ...{ id: random.hex(16) as AccessTokenId, userId, name: wanted.name, role, projects: wanted.projects ?? null },
        ...{ hash: hashTokenText(secret), ending: endingOf(secret), createdAtMs: nowMs, lastUsedAtMs: null },
        expiresAtMs: wanted.expiresInDays === null ? null : nowMs + wanted.expiresInDays * DAY_MS
      }
      await store.addAccessToken(token)
      this.#tokens.set(token.id, token)
      this.#tokenByHash.set(token.hash, token)
      return { secret, token: describeToken(token) }
    })
  }

  /** Whose token it would be, and with which role. Throws as `createToken` rejects, for lack of a right. */
  requireGrantable(
    by: Principal,
    wanted: Pick<Given<NewAccessToken>, 'userId' | 'role' | 'projects'>
  ): { userId: UserId | null; role: Role } {
    const userId = wanted.userId ?? by.userId
    if (by.tokenId !== null) throw needsPassword('A token cannot create another one')
    if (userId !== by.userId && by.role !== 'owner') throw refusal('Only an owner creates tokens for others', by.role)
    const owner = userId === null ? OWNER : this.#requireUser(userId)
    const rights = owner === OWNER ? OWNER.rights : rightsOf(owner.role, (owner as StoredUser).projects)
    const highest = highestRole(rights)!
    const role = wanted.role ?? highest
    if (!includesRole(highest, role)) throw refusal(`A token of ${owner.name} cannot have the role ${role}`, highest)
    const foreign = wanted.projects?.find((project) => roleIn(rights, project) === null)
    if (foreign !== undefined) throw refusal(`${owner.name} has no role in the project ${foreign}`, highest)
    return { userId, role }
  }

  /** Rejects with TOKEN_NOT_FOUND, also for those of others that this principal may not see. */
  revokeToken(by: Principal, id: AccessTokenId): Promise<boolean> {
    return this.#inTurn(async () => {
      const token = this.#tokens.get(id)
      if (token === undefined || !mayManage(by, token)) {
        throw new ScrapdeckError('TOKEN_NOT_FOUND', `There is no token ${id}; it may have been revoked`)
      }
      const isRevoked = await this.#parts.store.deleteAccessToken(id)
      this.#forgetToken(token)
      this.#announce()
      return isRevoked
    })
  }

  #principalOf(userId: UserId | null, sinceMs = 0): Principal | null {
    if (userId === null) return { ...OWNER, name: this.#parts.ownerName, sinceMs }
    const user = this.#users.get(userId)
    if (user?.enabled !== true) return null
    const rights = rightsOf(user.role, user.projects)
    const role = highestRole(rights)
    return role === null ? null : { userId, name: user.name, role, rights, tokenId: null, sinceMs }
  }

  /** null: its user has no role any more in the projects that it is for. */
  #principalOfToken(owner: Principal, token: StoredAccessToken): Principal | null {
    const rights = narrowRights(owner.rights, token.role, token.projects)
    const role = highestRole(rights)
    return role === null ? null : { ...owner, role, rights, tokenId: token.id }
  }

  /** Of somebody from elsewhere: whether the last login is not too long ago for tokens. */
  #isVouchedFor(userId: UserId | null): boolean {
    const user = userId === null ? undefined : this.#users.get(userId)
    if (user === undefined || user.subject === null) return true
    return user.vouchedAtMs !== null && this.#parts.clock.nowMs() - user.vouchedAtMs < VOUCHED_FOR_MS
  }

  /** Ends the sessions of this subject's user, too, unless `change` says that there is nothing to do. */
  #changeSubject(subject: string, change: (user: StoredUser) => StoredUser | null): Promise<void> {
    return this.#inTurn(async () => {
      const id = this.#idBySubject.get(subject)
      const user = id === undefined ? undefined : this.#users.get(id)
      const changed = user === undefined ? null : change(user)
      if (changed === null) return
      addToAudit({ name: changed.name, subject, isVouchedFor: changed.vouchedAtMs !== null })
      await this.#put({ ...changed, sessionsSinceMs: this.#parts.clock.nowMs() + 1 })
    })
  }

  #newUser(subject: string, wanted: string): StoredUser {
    this.#refuseTooMany()
    const { clock, random, ownerName } = this.#parts
    const nowMs = clock.nowMs()
    const isTaken = (name: string) => foldName(name) === foldName(ownerName) || this.#byName(name) !== undefined
    return {
      ...{ id: random.hex(16) as UserId, name: freeName(nameFrom(wanted) || 'user', isTaken), kind: 'person' },
      ...{
        role: 'viewer',
        projects: {},
        enabled: true,
        passwordHash: null,
        createdAtMs: nowMs,
        sessionsSinceMs: nowMs
      },
      ...{ lastSeenAtMs: null, subject, vouchedAtMs: null }
    }
  }

  #refuseTooMany(): void {
    if (this.#users.size < USERS_MAX) return
    throw new ScrapdeckError('BAD_INPUT', `There can be ${USERS_MAX} users. Remove some first`)
  }

  #isValid({ expiresAtMs }: StoredAccessToken): boolean {
    return expiresAtMs === null || this.#parts.clock.nowMs() < expiresAtMs
  }

  #byName(name: string): StoredUser | undefined {
    const id = name.length > NAME_MAX ? undefined : this.#idByName.get(foldName(name))
    return id === undefined ? undefined : this.#users.get(id)
  }

  #requireUser(id: UserId): StoredUser {
    const user = this.#users.get(id)
    if (user !== undefined) return user
    throw new ScrapdeckError('USER_NOT_FOUND', `There is no user ${id}; it may have been removed`)
  }

  async #put(user: StoredUser): Promise<User> {
    await this.#parts.store.putUser(user)
    this.#users.set(user.id, user)
    this.#idByName.set(foldName(user.name), user.id)
    if (user.subject !== null) this.#idBySubject.set(user.subject, user.id)
    this.#announce()
    return describeUser(user)
  }

  #forgetToken({ id, hash }: StoredAccessToken): void {
    this.#tokens.delete(id)
    this.#tokenByHash.delete(hash)
  }

  #announce(): void {
    this.events.emit('changed')
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  #markSeen(userId: UserId | null, tokenId: AccessTokenId | null): void {
    if (userId === null && tokenId === null) return
    if (this.#seenUsers.size + this.#usedTokens.size === 0)
      this.#timers.set(SEEN_EVERY_MS, () => void this.#recordSeen())
    if (userId !== null) this.#seenUsers.add(userId)
    if (tokenId !== null) this.#usedTokens.add(tokenId)
  }

  async #recordSeen(): Promise<void> {
    const users = [...this.#seenUsers]
    const tokens = [...this.#usedTokens]
    this.#seenUsers.clear()
    this.#usedTokens.clear()
    if (users.length + tokens.length === 0) return
    const atMs = this.#parts.clock.nowMs()
    await this.#inTurn(async () => {
      for (const id of users) this.#seen(id, atMs)
      for (const id of tokens) this.#used(id, atMs)
      await this.#parts.store.recordAccess(users, tokens, atMs)
    }).catch((error: unknown) => this.#parts.logger.warn({ err: error }, 'When users were last seen is not recorded'))
  }

  #seen(id: UserId, atMs: number): void {
    const user = this.#users.get(id)
    if (user !== undefined) this.#users.set(id, { ...user, lastSeenAtMs: atMs })
  }

  #used(id: AccessTokenId, atMs: number): void {
    const token = this.#tokens.get(id)
    if (token === undefined) return
    const used = { ...token, lastUsedAtMs: atMs }
    this.#tokens.set(id, used)
    this.#tokenByHash.set(token.hash, used)
  }
}

/** Of a name that can be one. */
const NAME_MAX = 64
const foldName = (name: string): string => name.normalize('NFKC').toLowerCase()

/** An owner all, others their own; a token of less than an owner only itself, or it could end stronger ones. */
function mayManage({ role, userId, tokenId }: Principal, token: StoredAccessToken): boolean {
  if (role === 'owner') return true
  return tokenId === null ? token.userId === userId : token.id === tokenId
}

function refuseNoRole(role: Role | null, projects: Record<string, ProjectRole>): void {
  if (role !== null || Object.keys(projects).length > 0) return
  throw new ScrapdeckError('BAD_INPUT', 'Give the user a role, for all projects or for some', {
    data: { field: 'role' }
  })
}

const needsPassword = (text: string): ScrapdeckError =>
  new ScrapdeckError('PASSWORD_REQUIRED', `${text}: log in with a password.`)

function refusal(text: string, role: Role): ScrapdeckError {
  return new ScrapdeckError('ROLE_REQUIRED', `${text}.`, { data: { role } })
}

function refuseObvious(password: string | undefined, name: string): void {
  if (password === undefined || !(isObvious(password, name) || looksLikeToken(password))) return
  throw new ScrapdeckError(
    'BAD_INPUT',
    'This password is easily guessed: use several words that have nothing in common',
    { data: { field: 'password' } }
  )
}

function describeUser({ passwordHash, sessionsSinceMs: _, subject, vouchedAtMs: __, ...user }: StoredUser): User {
  return { ...user, origin: originOf({ subject }), hasPassword: passwordHash !== null }
}

const originOf = ({ subject }: Pick<StoredUser, 'subject'>): User['origin'] =>
  subject === null ? 'local' : subject.startsWith('proxy ') ? 'proxy' : 'oidc'

function describeToken({ hash: _, ...token }: StoredAccessToken): AccessToken {
  return token
}
