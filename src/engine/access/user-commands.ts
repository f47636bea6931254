import type { Sentence } from '../../shared/texts/sentence.ts'
import { hostname } from 'node:os'
import type { NewUser, User, UserChanges, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredUser } from '../model/records.ts'
import { endedMeanwhile } from './acting.ts'
import { type Directory, foldName, type InTurn } from './directory.ts'
import { type GivenRoles, hasRole } from './given-roles.ts'
import { refuseTooManyMembers, requireGroup } from './group-commands.ts'
import { needsPassword, UserAttemptLimiter, type Passwords } from './passwords.ts'
import type { JudgedPassword } from './password-strength/judge-password.ts'
import { judgeInThread } from './password-strength/password-thread.ts'
import type { Principal } from './principal.ts'
import type { Roles } from './roles.ts'
import { looksLikeToken } from './token-commands.ts'

const USERS_MAX = 10_000

export interface UserCommandsParts {
  directory: Directory
  inTurn: InTurn
  roles: Roles
  passwords: Passwords
  clock: Clock
  random: Random
  ownerName: string
  isGuessable?: (password: JudgedPassword) => Promise<boolean>
}

export type ListedUser = Omit<User, 'hasAuthenticator' | 'passkeyCount'>

export type GivenUser = Pick<NewUser, 'name' | 'kind' | 'role'> & Partial<NewUser>

export class UserCommands {
  readonly #parts: UserCommandsParts
  readonly #guesses: UserAttemptLimiter

  constructor(parts: UserCommandsParts) {
    this.#parts = parts
    this.#guesses = new UserAttemptLimiter(parts.clock)
  }

  get(id: UserId): ListedUser | undefined {
    const user = this.#parts.directory.user(id)
    return user === undefined ? undefined : describeUser(user)
  }

  list(): ListedUser[] {
    return this.#parts.directory.users.map(describeUser)
  }

  /** Rejects with USER_NAME_TAKEN, GROUP_NOT_FOUND or BAD_INPUT. */
  create(given: GivenUser): Promise<ListedUser> {
    const { directory, inTurn, roles, passwords, clock, random } = this.#parts
    const { name, kind, role, projects = {}, nodeGroups = {}, groups = [], password } = given
    return inTurn(async () => {
      if (kind === 'service' && password !== undefined) {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.service_account_needs_token', { name }))
      }
      if (this.#isTaken(name)) {
        throw new ScrapdeckError('USER_NAME_TAKEN', sentence('access.user_name_taken', { name }))
      }
      this.#refuseTooMany()
      const joined = [...new Set(groups)].map((id) => requireGroup(directory, id))
      refuseNoRole([{ role, projects, nodeGroups }, ...joined])
      roles.requireGiven({ role, projects })
      for (const { members } of joined) refuseTooManyMembers(members.length + 1)
      await this.#refuseGuessable(password, name)
      const nowMs = clock.nowMs()
      const user: StoredUser = {
        id: random.hex(16) as UserId,
        name,
        kind,
        role,
        projects,
        nodeGroups,
        enabled: true,
        passwordHash: password === undefined ? null : await passwords.hash(password),
        createdAtMs: nowMs,
        sessionsSinceMs: nowMs,
        lastSeenAtMs: null,
        subject: null,
        vouchedAtMs: null
      }
      await directory.putUser(user)
      for (const group of joined) {
        await directory.putGroup({ ...group, members: [...group.members, user.id].toSorted() })
      }
      return describeUser(user)
    })
  }

  /**
   * Changing the password or disabling the user ends all sessions. `confirmed`: the hash of the password that the user
   * gave to confirm the change. Rejects with USER_NOT_FOUND or BAD_INPUT.
   */
  update(
    id: UserId,
    { role, projects, nodeGroups, enabled, password }: UserChanges,
    { confirmed }: { confirmed?: string | null } = {}
  ): Promise<ListedUser> {
    const { directory, inTurn, roles, passwords, clock } = this.#parts
    return inTurn(async () => {
      const before = directory.requireUser(id)
      if (confirmed !== undefined && before.passwordHash !== confirmed) throw passwordChanged()
      if (password !== undefined && before.kind === 'service') {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.service_account_no_password', { name: before.name }))
      }
      const changesRights = [role, projects, nodeGroups].some((one) => one !== undefined)
      if (before.subject !== null && (changesRights || password !== undefined)) {
        throw new ScrapdeckError(
          'BAD_INPUT',
          sentence('access.user_of_provider', { name: before.name, origin: originOf(before) })
        )
      }
      await this.#refuseGuessable(password, before.name)
      const rights = {
        role: role === undefined ? before.role : role,
        projects: projects ?? before.projects,
        nodeGroups: nodeGroups ?? before.nodeGroups
      }
      if (changesRights) refuseNoRole([rights, ...directory.groupsOf(id)])
      if (role !== undefined || projects !== undefined) roles.requireGiven(rights)
      const endsSessions = password !== undefined || enabled === false
      const user = {
        ...before,
        ...rights,
        enabled: enabled ?? before.enabled,
        passwordHash: password === undefined ? before.passwordHash : await passwords.hash(password),
        sessionsSinceMs: endsSessions ? directory.nextSessionsSince(id, clock.nowMs()) : before.sessionsSinceMs
      }
      await directory.putUser(user)
      return describeUser(user)
    })
  }

  /** Rejects like confirmPassword. */
  async changeOwnPassword(by: Principal, current: string, password: string): Promise<void> {
    const { id, passwordHash } = await this.confirmPassword(by, current, {
      what: 'change the password',
      ofService: sentence('access.service_password_elsewhere')
    })
    if (password === current) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.password_unchanged'), {
        data: { field: 'password' }
      })
    }
    await this.update(id, { password }, { confirmed: passwordHash })
  }

  /**
   * Checks the user's password before an action, in case someone else uses a browser that was left unattended. Rejects
   * with PASSWORD_REQUIRED for a token, BAD_INPUT for a wrong or missing password, and TOO_MANY_REQUESTS.
   */
  async confirmPassword(
    { userId, tokenId }: Principal,
    current: string,
    { what, ofService }: { what: string; ofService: Sentence }
  ): Promise<Pick<StoredUser, 'id' | 'name' | 'passwordHash'>> {
    if (tokenId !== null) throw needsPassword(`A token cannot ${what} of its user`)
    const { directory, passwords } = this.#parts
    const user = directory.user(userId)
    if (user === undefined) throw new ScrapdeckError('BAD_INPUT', ofService)
    this.#guesses.begin(user.id)
    if (!(await passwords.isRight(current, user.passwordHash))) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.current_password_wrong'), { data: { field: 'current' } })
    }
    if (directory.user(user.id)?.passwordHash !== user.passwordHash) throw passwordChanged()
    this.#guesses.forget(user.id)
    return user
  }

  /** Performs `work`, then ends all sessions of the user before any other change. Rejects with USER_NOT_FOUND. */
  endSessions(id: UserId, work: () => Promise<void> = async () => {}): Promise<ListedUser> {
    return this.#parts.inTurn(async () => {
      this.#parts.directory.requireUser(id)
      await work()
      return describeUser(await this.#endSessions(id))
    })
  }

  /**
   * Ends all sessions of this user except the caller's, which `keep` renews first. Rejects with UNAUTHORIZED if the
   * caller's session has ended: `countsFromMs` returns null or a time that no longer counts.
   */
  endOtherSessions(
    id: UserId,
    countsFromMs: () => number | null,
    keep: (sinceMs: number) => void
  ): Promise<StoredUser> {
    return this.#parts.inTurn(
      () => this.#endSessions(id, keep),
      () => {
        const fromMs = countsFromMs()
        if (fromMs === null || fromMs < this.#parts.directory.sessionsSince(id)) throw endedMeanwhile()
      }
    )
  }

  async #endSessions(id: UserId, keep: (sinceMs: number) => void = () => {}): Promise<StoredUser> {
    const { directory, clock } = this.#parts
    const user = { ...directory.requireUser(id), sessionsSinceMs: directory.nextSessionsSince(id, clock.nowMs()) }
    keep(user.sessionsSinceMs)
    await directory.putUser(user)
    return user
  }

  remove(id: UserId): Promise<boolean> {
    const { directory, inTurn } = this.#parts
    return inTurn(async () => directory.deleteUser(directory.requireUser(id)))
  }

  /** Creates a user for whom another service vouches. Throws BAD_INPUT. */
  newFromElsewhere(subject: string, wanted: string): StoredUser {
    this.#refuseTooMany()
    const { clock, random } = this.#parts
    const nowMs = clock.nowMs()
    const name = freeName(nameFrom(wanted) || 'user', (one) => this.#isTaken(one))
    return {
      id: random.hex(16) as UserId,
      name,
      kind: 'person',
      role: 'viewer',
      projects: {},
      nodeGroups: {},
      enabled: true,
      passwordHash: null,
      createdAtMs: nowMs,
      sessionsSinceMs: nowMs,
      lastSeenAtMs: null,
      subject,
      vouchedAtMs: null
    }
  }

  #isTaken(name: string): boolean {
    const { directory, ownerName } = this.#parts
    return foldName(name) === foldName(ownerName) || directory.userByName(name) !== undefined
  }

  async #refuseGuessable(password: string | undefined, name: string): Promise<void> {
    if (password === undefined) return
    const { ownerName, clock, isGuessable = judgeInThread(clock) } = this.#parts
    const names = [name, ownerName, hostname(), ...OWN_NAMES]
    if (!looksLikeToken(password) && !(await isGuessable({ password, names }))) return
    throw new ScrapdeckError('BAD_INPUT', sentence('access.password_easily_guessed'), { data: { field: 'password' } })
  }

  #refuseTooMany(): void {
    if (this.#parts.directory.userCount < USERS_MAX) return
    throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_users', { usersMax: USERS_MAX }))
  }
}

const OWN_NAMES = ['scrapdeck', 'scrapyd', 'scrapy', 'spider', 'crawler', 'scraper']

const passwordChanged = (): ScrapdeckError =>
  new ScrapdeckError('BAD_INPUT', sentence('access.password_changed'), {
    data: { field: 'current' }
  })

function refuseNoRole(all: readonly GivenRoles[]): void {
  if (all.some(hasRole)) return
  throw new ScrapdeckError('BAD_INPUT', sentence('access.user_needs_role'), {
    data: { field: 'role' }
  })
}

function describeUser({ passwordHash, sessionsSinceMs: _, subject, vouchedAtMs: __, ...user }: StoredUser): ListedUser {
  return { ...user, origin: originOf({ subject }), hasPassword: passwordHash !== null }
}

const originOf = ({ subject }: Pick<StoredUser, 'subject'>): User['origin'] =>
  subject === null ? 'local' : (subject.split(' ', 1)[0] as 'oidc' | 'proxy' | 'plugin')

const NAME_MAX = 56

/** Keeps letters, digits and `. _ @ + -`, and replaces everything else with `-`. Can return an empty string. */
export function nameFrom(text: string): string {
  const plain = text
    .slice(0, 1_000)
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{N}._@+-]+/gu, '-')
  const short = plain.slice(0, NAME_MAX).replace(/\p{Cs}$/u, '')
  return short.replaceAll(/^-+|-+$/g, '')
}

/** Returns the name, or the first free one of `name-2`, `name-3` … */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name
  let number = 2
  while (isTaken(`${name}-${number}`)) number += 1
  return `${name}-${number}`
}
