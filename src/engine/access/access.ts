import type { EventEmitter } from 'node:events'
import type { AccessToken, AccessTokenId, UserChanges, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import { includes, NONE } from '../../shared/permissions.ts'
import { roleOf, rolesIn } from '../../shared/roles.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredAccessToken, StoredRole, StoredUser } from '../model/records.ts'
import { actAs, addToAudit, refuseEndedActor } from './acting.ts'
import { type Bearer, Bearers } from './bearers.ts'
import { Directory, type DirectoryStore, foldName, type InTurn } from './directory.ts'
import { GroupCommands } from './group-commands.ts'
import { nameFrom, type GivenUser, type ListedUser, UserCommands } from './user-commands.ts'
import type { JudgedPassword } from './password-strength/judge-password.ts'
import { Passwords } from './passwords.ts'
import { OWNER, type Principal } from './principal.ts'
import { areSameRoles, type GivenRoles, hasRole, shownRole } from './given-roles.ts'
import { areSameRights, narrowRights, type Rights } from './rights.ts'
import { RightsOfUsers } from './rights-of-users.ts'
import { Roles } from './roles.ts'
import { DAY_MS, TokenCommands, hashTokenText, isTokenText, looksLikeToken } from './token-commands.ts'

export interface AccessParts {
  store: DirectoryStore
  clock: Clock
  random: Random
  logger: Logger
  ownerName: string
  /** Default: judges the password in a separate thread. */
  isGuessable?: (password: JudgedPassword) => Promise<boolean>
}

/** The lifetime of tokens after a login through an identity provider, which does not report when a user leaves. */
const VOUCHED_FOR_MS = 30 * DAY_MS

/** A user for whom an identity provider or a proxy vouches. */
export interface Vouched {
  /**
   * The user's identity at the provider or proxy: `oidc ISSUER SUB` or `proxy NAME`. Later logins are recognized by
   * this key only.
   */
  subject: string
  name: string
  /** Derived from the user's groups at the provider or proxy. Replaces the previous role. */
  role: string | null
  projects: StoredUser['projects']
  nodeGroups: StoredUser['nodeGroups']
}

/** Finds the principal of a request by its credentials. The owner (OWNER) is not a user. */
export class Access {
  readonly #parts: AccessParts
  readonly #directory: Directory
  readonly #rights: RightsOfUsers
  readonly #passwords = new Passwords()
  readonly #bearers: Bearers
  readonly #lastSeen: LastSeen
  readonly #users: UserCommands
  readonly #tokens: TokenCommands
  readonly groups: GroupCommands
  readonly roles: Roles

  constructor(parts: AccessParts, directory: Directory, roles: readonly StoredRole[] = []) {
    this.#parts = parts
    this.#directory = directory
    const { inTurn } = this
    this.roles = new Roles({ ...parts, inTurn, holdersOf: (name, where) => this.#holdersOf(name, where) }, roles)
    this.#rights = new RightsOfUsers(directory, this.roles.setOf)
    this.#bearers = new Bearers(parts.clock, this.roles.setOf)
    this.roles.events.on('changed', () => this.#forgetRights())
    this.#lastSeen = new LastSeen({ ...parts, directory })
    const common = { ...parts, directory, roles: this.roles, inTurn }
    this.#users = new UserCommands({ ...common, passwords: this.#passwords })
    this.#tokens = new TokenCommands({ ...common, rights: this.#rights })
    this.groups = new GroupCommands(common)
  }

  static async open(parts: AccessParts): Promise<Access> {
    return new Access(parts, await Directory.open(parts.store), await parts.store.listRoles())
  }

  stop(): Promise<void> {
    return this.#lastSeen.stop()
  }

  get events(): EventEmitter<{ changed: [] }> {
    return this.#directory.events
  }

  /** Whether only the owner can log in. If so, no other passwords need to be checked. */
  get isEmpty(): boolean {
    return this.#directory.userCount === 0
  }

  /**
   * Runs `work` after all earlier changes. Just before, `check` throws if `work` is no longer allowed. The default
   * `check` throws UNAUTHORIZED if the actor was logged out or changed.
   */
  readonly inTurn: InTurn = (work, check = () => refuseEndedActor((principal) => this.isCurrent(principal))) =>
    this.#directory.inTurn(async () => {
      check()
      return work()
    })

  getUser = (id: UserId): ListedUser | undefined => this.#users.get(id)
  listUsers = (): ListedUser[] => this.#users.list()
  createUser = (given: GivenUser): Promise<ListedUser> => this.#users.create(given)
  updateUser = (id: UserId, changes: UserChanges): Promise<ListedUser> => this.#users.update(id, changes)
  endSessionsOf: UserCommands['endSessions'] = (id, work) => this.#users.endSessions(id, work)
  endOtherSessions: UserCommands['endOtherSessions'] = (id, countsFromMs, keep) =>
    this.#users.endOtherSessions(id, countsFromMs, keep)
  /** Ends the sessions of all users and the owner, on every engine that shares the database. */
  endAllSessions = (): Promise<void> =>
    this.#directory.inTurn(() => this.#directory.endAllSessions(this.#parts.clock.nowMs()))
  confirmPassword: UserCommands['confirmPassword'] = (by, current, words) =>
    this.#users.confirmPassword(by, current, words)
  removeUser = (id: UserId): Promise<boolean> => this.#users.remove(id)
  changeOwnPassword = (by: Principal, current: string, password: string): Promise<void> =>
    this.#users.changeOwnPassword(by, current, password)
  listTokens = (by: Principal): AccessToken[] => this.#tokens.list(by)
  createToken: TokenCommands['create'] = (by, wanted, check) => this.#tokens.create(by, wanted, check)
  requireGrantable: TokenCommands['requireGrantable'] = (by, wanted) => this.#tokens.requireGrantable(by, wanted)
  revokeToken = (by: Principal, id: AccessTokenId): Promise<boolean> => this.#tokens.revoke(by, id)

  tokenName(id: AccessTokenId): string | null {
    return this.#directory.token(id)?.name ?? null
  }

  /** Whether the text has the form of a token, valid or not. Passwords never have this form. */
  looksLikeToken(text: string): boolean {
    return looksLikeToken(text)
  }

  findByToken(text: string): Principal | null {
    if (!isTokenText(text)) return null
    const token = this.#directory.tokenByHash(hashTokenText(text))
    if (token === undefined || !this.#isValid(token)) return null
    const owner = this.#principalOf(token.userId)
    if (owner === null || !this.#isVouchedFor(token.userId)) return null
    this.#lastSeen.mark(token.userId, token.id)
    return this.#principalOfToken(owner, token)
  }

  /** Finds the principal of a token that another issuer signed. null: the token must be verified first. */
  findByBearer(text: string): Principal | null {
    return this.#bearers.find(text)
  }

  /** Call this only after verifying the signature. */
  admitBearer(text: string, bearer: Bearer): Principal {
    if (this.#rights.of(bearer).anywhere === NONE) throw this.#noSuchRole(bearer)
    return this.#bearers.add(text, { ...bearer, name: nameFrom(bearer.name) || 'jwt' })
  }

  /** A synchronous `signIn` for a proxy that vouches with each request. null: `signIn` must be called instead. */
  findVouched({ subject, role, projects, nodeGroups }: Vouched): Principal | null {
    const user = this.#directory.userBySubject(subject)
    if (user === undefined) return null
    if (!areSameRoles(user, { role, projects, nodeGroups })) return null
    if (this.#parts.clock.nowMs() - (user.vouchedAtMs ?? 0) > VOUCHED_FOR_MS / 2) return null
    const principal = this.#principalOf(user.id, this.sessionStart(user.id))
    if (principal !== null) this.#lastSeen.mark(user.id, null)
    return principal
  }

  /**
   * Returns the user with this subject and sets the role. Creates the user at the first login. Never returns a user
   * with the same name for whom another service vouches. Rejects with UNAUTHORIZED if an owner disabled the user,
   * with ROLE_REQUIRED if neither the role nor the user's groups in Scrapdeck give any rights, and with BAD_INPUT.
   */
  async signIn(vouched: Vouched): Promise<Principal> {
    const { subject, name, role, projects, nodeGroups } = vouched
    if (this.#rights.of(vouched).anywhere === NONE && this.noneOfItsOwn(subject) === null) {
      await this.disown(subject)
      throw this.#noSuchRole(vouched)
    }
    return this.#directory.inTurn(async () => {
      const nowMs = this.#parts.clock.nowMs()
      const known = this.#directory.userBySubject(subject)
      const before = known ?? this.#users.newFromElsewhere(subject, name)
      if (!before.enabled) {
        throw new ScrapdeckError('UNAUTHORIZED', sentence('access.user_disabled', { name: before.name }), {
          data: { credentials: 'wrong' }
        })
      }
      const user: StoredUser = { ...before, role, projects, nodeGroups, vouchedAtMs: nowMs }
      const isNews = known === undefined || !areSameRoles(before, { role, projects, nodeGroups })
      if (isNews) addToAudit({ name: user.name, subject, role, projects, nodeGroups })
      await (isNews ? this.#directory.putUser(user) : actAs(null, () => this.#directory.putUser(user)))
      this.#lastSeen.mark(user.id, null)
      const principal = this.#principalOf(user.id, this.sessionStart(user.id))
      if (principal !== null) return principal
      throw new ScrapdeckError('ROLE_REQUIRED', sentence('access.no_role', { user: user.name }))
    })
  }

  /** Returns empty roles if groups in Scrapdeck give this user a role. null: none does, or there is no such user. */
  noneOfItsOwn(subject: string): Pick<Vouched, 'role' | 'projects' | 'nodeGroups'> | null {
    const user = this.#directory.userBySubject(subject)
    if (user === undefined || !this.#directory.groupsOf(user.id).some(hasRole)) return null
    return { role: null, projects: {}, nodeGroups: {} }
  }

  /** Call this when the service that vouches for this subject reports a logout. */
  endSessions(subject: string): Promise<void> {
    return this.#changeSubject(subject, (user) => user)
  }

  /** Call this when no service vouches for this subject any more. Suspends the user's tokens until the next login. */
  disown(subject: string): Promise<void> {
    return this.#changeSubject(subject, (user) => (user.vouchedAtMs === null ? null : { ...user, vouchedAtMs: null }))
  }

  /** Returns null for an unknown user, a wrong password or a disabled user. All three take the same time. */
  async findByPassword(name: string, password: string): Promise<Principal | null> {
    const user = this.#directory.userByName(name)
    const sinceMs = this.sessionStart(user?.id ?? null)
    const isRight = await this.#passwords.isRight(password, user?.passwordHash ?? null)
    if (!isRight || user === undefined) return null
    // The password may have changed during the check.
    const now = this.#directory.user(user.id)
    if (now?.passwordHash !== user.passwordHash) return null
    this.#lastSeen.mark(user.id, null)
    return this.#principalOf(user.id, sinceMs)
  }

  isLocalName(name: string): boolean {
    const user = this.#directory.userByName(name)
    return user === undefined ? foldName(name) === foldName(this.#parts.ownerName) : user.subject === null
  }

  /**
   * Returns null if the session has ended. `userId` null: the owner. `isSeen`: whether the call counts as user
   * activity.
   */
  findBySession(userId: UserId | null, beganAtMs: number, { isSeen = true } = {}): Principal | null {
    const principal = this.#principalOf(userId, beganAtMs)
    if (principal === null || !this.isCurrent(principal) || beganAtMs < this.#directory.sessionsSince(userId))
      return null
    if (isSeen) this.#lastSeen.mark(userId, null)
    return principal
  }

  /**
   * Returns the start time for a new session. This is never before the time at which earlier sessions ended, which can
   * be ahead of this engine's clock if another engine set it.
   */
  sessionStart(userId: UserId | null): number {
    return Math.max(this.#parts.clock.nowMs(), this.#directory.sessionsSince(userId))
  }

  /**
   * Whether the credentials are still valid and give the same rights. False, for example, after a change of role or
   * password.
   */
  isCurrent({ userId, tokenId, rights, sinceMs }: Principal): boolean {
    if (userId === null && tokenId === null) return rights.everywhere === OWNER.rights.everywhere
    const bearer = tokenId === null ? null : this.#bearers.get(tokenId)
    if (bearer !== null) return areSameRights(bearer.rights, rights)
    const owner = this.#principalOf(userId, sinceMs)
    if (owner === null) return false
    if (tokenId === null) {
      return areSameRights(owner.rights, rights) && this.#directory.sessionsSince(userId) <= sinceMs
    }
    const token = this.#directory.token(tokenId)
    if (token === undefined || !this.#isValid(token) || !this.#isVouchedFor(userId)) return false
    return areSameRights(this.#rightsOfToken(owner, token), rights)
  }

  #principalOf(userId: UserId | null, sinceMs = 0): Principal | null {
    if (userId === null) return { ...OWNER, name: this.#parts.ownerName, sinceMs }
    const user = this.#directory.user(userId)
    if (user?.enabled !== true) return null
    const rights = this.#rights.ofUser(userId)
    if (rights.anywhere === NONE) return null
    return { userId, name: user.name, role: this.#rights.shownRoleOf(userId), rights, tokenId: null, sinceMs }
  }

  #principalOfToken(owner: Principal, token: StoredAccessToken): Principal | null {
    const rights = this.#rightsOfToken(owner, token)
    if (rights.anywhere === NONE) return null
    const isLess = includes(owner.rights.anywhere, this.roles.setOf(token.role))
    const role = roleOf(rights.anywhere) ?? (isLess ? token.role : owner.role)
    return { ...owner, role, rights, tokenId: token.id }
  }

  #rightsOfToken(owner: Principal, token: StoredAccessToken): Rights {
    return narrowRights(owner.rights, this.roles.setOf(token.role), token)
  }

  #holdersOf(name: string, where?: 'inProjects'): string[] {
    const { users, groups, tokens } = this.#directory
    const has = (text: string) => rolesIn(text).includes(name)
    const holds = ({ role, projects }: GivenRoles) =>
      (where === undefined && role !== null && has(role)) || Object.values<string>(projects).some(has)
    return [
      ...users.filter(holds).map((user) => `the user ${user.name}`),
      ...groups.filter(holds).map((group) => `the group ${group.name}`),
      ...tokens.filter((token) => where === undefined && has(token.role)).map((token) => `the token ${token.name}`)
    ]
  }

  #forgetRights(): void {
    this.#rights.forget()
    this.#bearers.recompute()
    this.#directory.events.emit('changed')
  }

  #noSuchRole({ name, ...given }: GivenRoles & { name: string }): ScrapdeckError {
    const role = shownRole([given], this.roles.setOf)
    return new ScrapdeckError('ROLE_REQUIRED', sentence('access.role_of_groups_missing', { name, role }))
  }

  #isVouchedFor(userId: UserId | null): boolean {
    const user = this.#directory.user(userId)
    if (user === undefined || user.subject === null) return true
    return user.vouchedAtMs !== null && this.#parts.clock.nowMs() - user.vouchedAtMs < VOUCHED_FOR_MS
  }

  /**
   * Applies `change` to this subject's user and ends the user's sessions. `change` returns null if there is nothing
   * to do.
   */
  #changeSubject(subject: string, change: (user: StoredUser) => StoredUser | null): Promise<void> {
    return this.#directory.inTurn(async () => {
      const user = this.#directory.userBySubject(subject)
      const changed = user === undefined ? null : change(user)
      if (changed === null) return
      addToAudit({ name: changed.name, subject, isVouchedFor: changed.vouchedAtMs !== null })
      const sessionsSinceMs = this.#directory.nextSessionsSince(changed.id, this.#parts.clock.nowMs())
      await this.#directory.putUser({ ...changed, sessionsSinceMs })
    })
  }

  #isValid({ expiresAtMs }: StoredAccessToken): boolean {
    return expiresAtMs === null || this.#parts.clock.nowMs() < expiresAtMs
  }
}

const SEEN_EVERY_MS = 60_000

/** Collects when users and tokens were last seen, and stores it once a minute. */
class LastSeen {
  readonly #parts: { directory: Directory; clock: Clock; logger: Logger }
  readonly #timers: Timers
  readonly #users = new Set<UserId>()
  readonly #tokens = new Set<AccessTokenId>()

  constructor(parts: { directory: Directory; clock: Clock; logger: Logger }) {
    this.#parts = parts
    this.#timers = new Timers(parts.clock)
  }

  async stop(): Promise<void> {
    this.#timers.stop()
    await this.#record()
  }

  mark(userId: UserId | null, tokenId: AccessTokenId | null): void {
    if (userId === null && tokenId === null) return
    if (this.#users.size + this.#tokens.size === 0) this.#timers.set(SEEN_EVERY_MS, () => void this.#record())
    if (userId !== null) this.#users.add(userId)
    if (tokenId !== null) this.#tokens.add(tokenId)
  }

  async #record(): Promise<void> {
    const { directory, clock, logger } = this.#parts
    const [users, tokens] = [[...this.#users], [...this.#tokens]]
    this.#users.clear()
    this.#tokens.clear()
    if (users.length + tokens.length === 0) return
    const atMs = clock.nowMs()
    await directory
      .inTurn(() => directory.recordSeen(users, tokens, atMs))
      .catch((error: unknown) => logger.warn({ err: error }, 'When users were last seen is not recorded'))
  }
}
