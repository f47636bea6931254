import { EventEmitter } from 'node:events'
import type { AccessTokenId, GroupId, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import type { StoredAccessToken, StoredGroup, StoredUser } from '../model/records.ts'
import type { AccessStore, SettingStore } from '../storage/store.ts'
import { Mutex } from '../runtime/mutex.ts'

/** Documented at Access.inTurn. */
export type InTurn = <T>(work: () => Promise<T>, check?: () => void) => Promise<T>

export type DirectoryStore = AccessStore & Pick<SettingStore, 'getSetting' | 'putSetting'>

const NAME_MAX = 64

/** Names that differ only in case or in Unicode encoding are the same name. */
export const foldName = (name: string): string => name.normalize('NFKC').toLowerCase()

/**
 * The only code that writes users, groups and tokens. Keeps all of them in memory. Each change is on disk before it
 * takes effect.
 */
export class Directory {
  readonly #store: DirectoryStore
  readonly #users = new Map<UserId, StoredUser>()
  /** Keyed by folded name. */
  readonly #idByName = new Map<string, UserId>()
  readonly #idBySubject = new Map<string, UserId>()
  readonly #tokens = new Map<AccessTokenId, StoredAccessToken>()
  readonly #tokenByHash = new Map<string, StoredAccessToken>()
  readonly #groups = new Map<GroupId, StoredGroup>()
  readonly #groupsByUser = new Map<UserId, StoredGroup[]>()
  #allSessionsSinceMs: number
  readonly #mutex = new Mutex()
  readonly events = new EventEmitter<{ changed: [] }>()

  constructor(
    store: DirectoryStore,
    users: StoredUser[],
    tokens: StoredAccessToken[],
    groups: StoredGroup[],
    allSessionsSinceMs = 0
  ) {
    this.#store = store
    this.#allSessionsSinceMs = allSessionsSinceMs
    for (const user of users) this.#keepUser(user)
    for (const token of tokens) this.#keepToken(token)
    for (const group of groups) this.#groups.set(group.id, group)
    this.#sortMembers()
  }

  static async open(store: DirectoryStore): Promise<Directory> {
    const [users, tokens, groups, sinceMs] = await Promise.all([
      ...([store.listUsers(), store.listAccessTokens(), store.listGroups()] as const),
      store.getSetting('sessions.sinceMs')
    ])
    return new Directory(store, users, tokens, groups, sinceMs ?? 0)
  }

  /** Performs `work` after all earlier changes. What `work` reads stays valid until it has written. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(work)
  }

  get users(): readonly StoredUser[] {
    return [...this.#users.values()]
  }

  get userCount(): number {
    return this.#users.size
  }

  /** Returns `undefined` for null, the owner of this machine. */
  user(id: UserId | null): StoredUser | undefined {
    return id === null ? undefined : this.#users.get(id)
  }

  userByName(name: string): StoredUser | undefined {
    const id = name.length > NAME_MAX ? undefined : this.#idByName.get(foldName(name))
    return this.user(id ?? null)
  }

  userBySubject(subject: string): StoredUser | undefined {
    return this.user(this.#idBySubject.get(subject) ?? null)
  }

  requireUser(id: UserId): StoredUser {
    const user = this.#users.get(id)
    if (user !== undefined) return user
    throw new ScrapdeckError('USER_NOT_FOUND', sentence('access.no_user', { id }))
  }

  async putUser(user: StoredUser): Promise<void> {
    await this.#store.putUser(user)
    this.#keepUser(user)
    this.events.emit('changed')
  }

  /** Sessions that started before this time are invalid. null: the owner. */
  sessionsSince(userId: UserId | null): number {
    return Math.max(this.#allSessionsSinceMs, this.user(userId)?.sessionsSinceMs ?? 0)
  }

  /**
   * Returns a time that ends all sessions of this user, including those that started in this millisecond. It never
   * decreases, because an earlier leader's clock may have been ahead.
   */
  nextSessionsSince(userId: UserId | null, nowMs: number): number {
    return Math.max(nowMs, this.sessionsSince(userId)) + 1
  }

  async endAllSessions(nowMs: number): Promise<void> {
    const newest = Math.max(...this.users.map(({ id }) => this.nextSessionsSince(id, nowMs)))
    const sinceMs = Math.max(newest, this.nextSessionsSince(null, nowMs))
    await this.#store.putSetting('sessions.sinceMs', sinceMs)
    this.#allSessionsSinceMs = sinceMs
  }

  /** Also deletes the user's tokens and memberships. */
  async deleteUser({ id, name, subject }: StoredUser): Promise<boolean> {
    const isDeleted = await this.#store.deleteUser(id)
    this.#users.delete(id)
    this.#idByName.delete(foldName(name))
    if (subject !== null) this.#idBySubject.delete(subject)
    for (const token of this.tokensOf(id)) this.#forgetToken(token)
    for (const group of this.groupsOf(id)) {
      this.#groups.set(group.id, { ...group, members: group.members.filter((member) => member !== id) })
    }
    this.#sortMembers()
    this.events.emit('changed')
    return isDeleted
  }

  get tokens(): readonly StoredAccessToken[] {
    return [...this.#tokens.values()]
  }

  token(id: AccessTokenId): StoredAccessToken | undefined {
    return this.#tokens.get(id)
  }

  tokenByHash(hash: string): StoredAccessToken | undefined {
    return this.#tokenByHash.get(hash)
  }

  /** Returns the tokens of a user. null: those of the owner of this machine. */
  tokensOf(userId: UserId | null): StoredAccessToken[] {
    return this.tokens.filter((token) => token.userId === userId)
  }

  async addToken(token: StoredAccessToken): Promise<void> {
    await this.#store.addAccessToken(token)
    this.#keepToken(token)
  }

  async deleteToken(token: StoredAccessToken): Promise<boolean> {
    const isDeleted = await this.#store.deleteAccessToken(token.id)
    this.#forgetToken(token)
    this.events.emit('changed')
    return isDeleted
  }

  get groups(): readonly StoredGroup[] {
    return [...this.#groups.values()]
  }

  group(id: GroupId): StoredGroup | undefined {
    return this.#groups.get(id)
  }

  groupsOf(userId: UserId): readonly StoredGroup[] {
    return this.#groupsByUser.get(userId) ?? []
  }

  async putGroup(group: StoredGroup): Promise<void> {
    await this.#store.putGroup(group)
    this.#groups.set(group.id, group)
    this.#sortMembers()
    this.events.emit('changed')
  }

  async deleteGroup(id: GroupId): Promise<boolean> {
    const isDeleted = await this.#store.deleteGroup(id)
    this.#groups.delete(id)
    this.#sortMembers()
    this.events.emit('changed')
    return isDeleted
  }

  /** Skips users and tokens that have been deleted. */
  async recordSeen(users: readonly UserId[], tokens: readonly AccessTokenId[], atMs: number): Promise<void> {
    for (const id of users) {
      const user = this.#users.get(id)
      if (user !== undefined) this.#keepUser({ ...user, lastSeenAtMs: atMs })
    }
    for (const id of tokens) {
      const token = this.#tokens.get(id)
      if (token !== undefined) this.#keepToken({ ...token, lastUsedAtMs: atMs })
    }
    await this.#store.recordAccess([...users], [...tokens], atMs)
  }

  #keepUser(user: StoredUser): void {
    this.#users.set(user.id, user)
    this.#idByName.set(foldName(user.name), user.id)
    if (user.subject !== null) this.#idBySubject.set(user.subject, user.id)
  }

  #keepToken(token: StoredAccessToken): void {
    this.#tokens.set(token.id, token)
    this.#tokenByHash.set(token.hash, token)
  }

  #forgetToken({ id, hash }: StoredAccessToken): void {
    this.#tokens.delete(id)
    this.#tokenByHash.delete(hash)
  }

  #sortMembers(): void {
    this.#groupsByUser.clear()
    for (const group of this.#groups.values()) {
      for (const id of group.members) {
        const before = this.#groupsByUser.get(id)
        if (before === undefined) this.#groupsByUser.set(id, [group])
        else before.push(group)
      }
    }
  }
}
