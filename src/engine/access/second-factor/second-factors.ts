import { EventEmitter } from 'node:events'
import type { NewCredential, Passkey, PasskeyId, LoginMethods, UserId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/access.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { StoredAuthenticator, StoredPasskey } from '../../model/records.ts'
import type { SecondFactorStore } from '../../storage/store.ts'
import type { Access } from '../access.ts'
import type { ListedUser } from '../user-commands.ts'
import type { Principal } from '../principal.ts'
import {
  CodeGuesses,
  createRecoveryCodes,
  hashRecoveryCode,
  readRecoveryCode,
  createSecret,
  type SecretForApp,
  stepOf
} from './codes.ts'
import {
  loginOptions,
  type NoPasskeySite,
  PASSKEY_MS,
  type PasskeyAnswer,
  type PasskeySite,
  registrationOptions,
  verifyLogin,
  verifyRegistration
} from './webauthn.ts'

export interface SecondFactorParts {
  store: SecondFactorStore
  access: Pick<
    Access,
    'confirmPassword' | 'getUser' | 'inTurn' | 'endSessionsOf' | 'findBySession' | 'sessionStart' | 'events'
  >
  secretBox: Pick<SecretBox, 'seal' | 'open'>
  clock: Clock
  random: Random
  logger: Logger
}

const SET_UP_MS = 10 * 60_000
const PASSKEYS_MAX = 20

interface Begun<T> {
  value: T
  untilMs: number
}

/**
 * Manages authenticator apps, recovery codes and passkeys, and keeps them in memory. The store records each use of a
 * code or a passkey counter, so that none is accepted twice, regardless of which engine receives it. Passkeys without a
 * counter are exempt.
 */
export class SecondFactors {
  readonly #parts: SecondFactorParts
  readonly #authenticators: Map<UserId, StoredAuthenticator>
  readonly #passkeys: Map<PasskeyId, StoredPasskey>
  readonly #guesses: CodeGuesses
  readonly #secrets = new Map<UserId, Begun<string>>()
  readonly #turningOn = new Set<UserId>()
  readonly #challenges = new Map<UserId, Begun<{ challenge: string; site: PasskeySite }>>()
  readonly events = new EventEmitter<{ changed: [] }>()

  constructor(parts: SecondFactorParts, authenticators: StoredAuthenticator[], passkeys: StoredPasskey[]) {
    this.#parts = parts
    this.#authenticators = new Map(authenticators.map((one) => [one.userId, one]))
    this.#passkeys = new Map(passkeys.map((one) => [one.id, one]))
    this.#guesses = new CodeGuesses(parts.clock)
    parts.access.events.on('changed', () => this.#forgetRemovedUsers())
  }

  static async open(parts: SecondFactorParts): Promise<SecondFactors> {
    const { store } = parts
    return new SecondFactors(parts, ...(await Promise.all([store.listAuthenticators(), store.listPasskeys()])))
  }

  /** `userId` null: the owner, who needs no code. */
  hasAuthenticator(userId: UserId | null): boolean {
    return userId !== null && this.#authenticators.has(userId)
  }

  /** Returns what a login still needs after a correct password. */
  stepAfterPassword(userId: UserId | null, { isRequired }: { isRequired: boolean }): 'code' | 'setUp' | null {
    if (userId === null) return null
    if (this.hasAuthenticator(userId)) return 'code'
    return isRequired && this.#parts.access.getUser(userId)?.hasPassword === true ? 'setUp' : null
  }

  hasPasskey(userId: UserId): boolean {
    return this.#passkeysOf(userId).length > 0
  }

  get havePasskeys(): boolean {
    return this.#passkeys.size > 0
  }

  describeUser(user: ListedUser): ListedUser & { hasAuthenticator: boolean; passkeyCount: number } {
    const { id } = user
    return { ...user, hasAuthenticator: this.hasAuthenticator(id), passkeyCount: this.#passkeysOf(id).length }
  }

  describe({ userId }: Principal, site: PasskeySite | NoPasskeySite): LoginMethods {
    const user = userId === null ? undefined : this.#parts.access.getUser(userId)
    const authenticator = user === undefined ? undefined : this.#authenticators.get(user.id)
    return {
      hasPassword: user?.hasPassword === true,
      authenticator:
        authenticator === undefined
          ? null
          : { createdAtMs: authenticator.createdAtMs, recoveryCodesLeft: authenticator.recoveryHashes.length },
      passkeys: user === undefined ? [] : this.#passkeysOf(user.id).map(describePasskey),
      passkeyProblem: 'problem' in site ? site.problem.text : null
    }
  }

  /** Rejects like Access.confirmPassword. `host` is Scrapdeck's host, which the app displays. */
  async beginAuthenticator(by: Principal, current: string, host: string | null): Promise<SecretForApp> {
    const { id } = await this.#confirm(by, current, 'set up an authenticator app')
    this.#refuseSecondAuthenticator(id)
    return this.beginSetUp(id, host)
  }

  /** The caller must have checked the user's password. */
  async beginSetUp(userId: UserId, host: string | null): Promise<SecretForApp> {
    const { name } = this.#requireUser(userId)
    const made = await createSecret(host === null ? name : `${name} (${host})`)
    this.#begin(this.#secrets, userId, made.secret, SET_UP_MS)
    return made
  }

  /** Resolves with the recovery codes. Rejects with PASSWORD_REQUIRED for a token, BAD_INPUT or TOO_MANY_REQUESTS. */
  async confirmAuthenticator(by: Principal, code: string): Promise<string[]> {
    const userId = requirePerson(by, 'set up an authenticator app')
    return this.confirmSetUp(userId, code)
  }

  async confirmSetUp(userId: UserId, code: string, check?: () => void): Promise<string[]> {
    const { access, clock, secretBox, store } = this.#parts
    const secret = this.#find(this.#secrets, userId)
    if (secret === null) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.authenticator_took_too_long'))
    }
    this.#refuseSecondAuthenticator(userId)
    const nowMs = clock.nowMs()
    const usedStep = await stepOf(code, secret, nowMs)
    if (usedStep === null) {
      const text = sentence('access.code_wrong')
      throw new ScrapdeckError('BAD_INPUT', text, { data: { field: 'code' } })
    }
    // A parallel confirmation may have come first. If both succeeded, the recovery codes of one would be useless.
    this.#refuseSecondAuthenticator(userId)
    this.#turningOn.add(userId)
    try {
      const recoveryCodes = createRecoveryCodes()
      const recoveryHashes = hashAll(userId, recoveryCodes)
      const sealedSecret = await secretBox.seal(secret)
      const authenticator = { userId, sealedSecret, createdAtMs: nowMs, usedStep, recoveryHashes }
      await access.inTurn(async () => {
        this.#requireUser(userId)
        await store.putAuthenticator(authenticator)
        this.#secrets.delete(userId)
        this.#authenticators.set(userId, authenticator)
        this.#announce()
      }, check)
      return recoveryCodes
    } finally {
      this.#turningOn.delete(userId)
    }
  }

  async removeAuthenticator(by: Principal, current: string): Promise<boolean> {
    const { id } = await this.#confirm(by, current, 'turn off the authenticator app')
    const { access, store } = this.#parts
    return access.inTurn(async () => {
      const isRemoved = await store.deleteAuthenticator(id)
      this.#authenticators.delete(id)
      this.#announce()
      return isRemoved
    })
  }

  async renewRecoveryCodes(by: Principal, current: string): Promise<string[]> {
    const { id } = await this.#confirm(by, current, 'create recovery codes')
    const { access, store } = this.#parts
    return access.inTurn(async () => {
      if (!this.#authenticators.has(id)) {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.recovery_codes_need_authenticator'))
      }
      const recoveryCodes = createRecoveryCodes()
      const recoveryHashes = hashAll(id, recoveryCodes)
      await store.putRecoveryCodes(id, recoveryHashes)
      const now = this.#authenticators.get(id)
      if (now !== undefined) this.#authenticators.set(id, { ...now, recoveryHashes })
      return recoveryCodes
    })
  }

  /**
   * Marks the code as used and returns its kind. null: invalid, or used before. `client`: a client from which the user
   * logged in recently. Rejects with TOO_MANY_REQUESTS.
   */
  async useCode(userId: UserId, code: string, client: string | null): Promise<'authenticator' | 'recoveryCode' | null> {
    const authenticator = this.#authenticators.get(userId)
    if (authenticator === undefined) return null
    if (readRecoveryCode(code) !== null) return (await this.#useRecoveryCode(userId, code)) ? 'recoveryCode' : null
    this.#guesses.begin(userId, client)
    const { clock, store } = this.#parts
    const secret = await this.#openSecret(authenticator)
    const step = await stepOf(code, secret, clock.nowMs())
    if (step === null || !(await store.useAuthenticatorStep(userId, step))) return null
    this.#guesses.forget(userId, client)
    return 'authenticator'
  }

  /** Fails if the key file was replaced. Recovery codes and passkeys still work then. */
  async #openSecret({ userId, sealedSecret }: StoredAuthenticator): Promise<string> {
    const { secretBox, logger } = this.#parts
    try {
      return await secretBox.open(sealedSecret)
    } catch (error) {
      logger.error({ err: error, userId }, 'The secret of an authenticator app cannot be decrypted')
      const text = sentence('access.codes_not_checkable')
      throw new ScrapdeckError('BAD_INPUT', text)
    }
  }

  async #useRecoveryCode(userId: UserId, code: string): Promise<boolean> {
    const hash = hashRecoveryCode(userId, code)
    if (!(await this.#parts.store.useRecoveryCode(userId, hash))) return false
    const now = this.#authenticators.get(userId)
    const recoveryHashes = now?.recoveryHashes.filter((one) => one !== hash)
    if (now !== undefined) this.#authenticators.set(userId, { ...now, recoveryHashes: recoveryHashes! })
    return true
  }

  /** Rejects like Access.confirmPassword, and with BAD_INPUT if passkeys cannot be used. */
  async beginPasskey(by: Principal, current: string, site: PasskeySite | NoPasskeySite): Promise<object> {
    const user = await this.#confirm(by, current, 'add a passkey')
    const at = requireSite(site)
    const others = this.#passkeysOf(user.id)
    if (others.length >= PASSKEYS_MAX) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_passkeys', { passkeysMax: PASSKEYS_MAX }))
    }
    const options = await registrationOptions(at, user, others)
    this.#begin(this.#challenges, user.id, { challenge: options.challenge, site: at }, PASSKEY_MS)
    return options
  }

  /** Rejects with PASSWORD_REQUIRED for a token, and with BAD_INPUT. */
  async addPasskey(by: Principal, name: string, credential: NewCredential): Promise<Passkey> {
    const userId = requirePerson(by, 'add a passkey')
    const begun = this.#find(this.#challenges, userId)
    // A challenge accepts only one response, valid or not.
    this.#challenges.delete(userId)
    if (begun === null) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.passkey_took_too_long'))
    }
    const { access, clock, random, logger, store } = this.#parts
    const made = await verifyRegistration(credential, { ...begun, logger })
    if (made === null || [...this.#passkeys.values()].some(({ credentialId }) => credentialId === made.credentialId)) {
      throw new ScrapdeckError('BAD_INPUT', sentence('access.passkey_not_new'))
    }
    const passkey: StoredPasskey = {
      ...made,
      id: random.hex(16) as PasskeyId,
      userId,
      name,
      host: begun.site.host,
      createdAtMs: clock.nowMs(),
      lastUsedAtMs: null
    }
    return access.inTurn(async () => {
      this.#requireUser(userId)
      await store.addPasskey(passkey)
      this.#passkeys.set(passkey.id, passkey)
      this.#announce()
      return describePasskey(passkey)
    })
  }

  async removePasskey(by: Principal, id: PasskeyId, current: string): Promise<boolean> {
    const user = await this.#confirm(by, current, 'remove a passkey')
    const { access, store } = this.#parts
    return access.inTurn(async () => {
      const isRemoved = await store.deletePasskey(user.id, id)
      if (isRemoved) this.#passkeys.delete(id)
      this.#announce()
      return isRemoved
    })
  }

  async beginLogin(site: PasskeySite): Promise<{ challenge: string }> {
    return loginOptions(site)
  }

  async finishLogin(
    answer: PasskeyAnswer,
    { site, challenge }: { site: PasskeySite; challenge: string }
  ): Promise<Principal> {
    const { store, access, clock, logger } = this.#parts
    const passkey = [...this.#passkeys.values()].find(({ credentialId }) => credentialId === answer.id)
    const signCount = passkey === undefined ? null : await verifyLogin(answer, passkey, { site, challenge, logger })
    const nowMs = clock.nowMs()
    if (passkey === undefined || signCount === null || !(await store.usePasskey(passkey.id, signCount, nowMs))) {
      throw notAccepted(sentence('access.passkey_not_accepted'))
    }
    const { id, userId } = passkey
    if (this.#passkeys.has(id)) this.#passkeys.set(id, { ...passkey, signCount, lastUsedAtMs: nowMs })
    const principal = access.findBySession(userId, access.sessionStart(userId))
    if (principal === null) throw notAccepted(sentence('access.passkey_user_disabled'))
    return principal
  }

  /** Removes all second factors of this user and ends the user's sessions. Rejects with USER_NOT_FOUND. */
  async reset(id: UserId): Promise<ListedUser> {
    return this.#parts.access.endSessionsOf(id, async () => {
      await this.#parts.store.deleteSecondFactors(id)
      this.#forget(id)
      this.#announce()
    })
  }

  #confirm(by: Principal, current: string, what: string): Promise<{ id: UserId; name: string }> {
    const ofService = sentence('access.service_has_only_password')
    return this.#parts.access.confirmPassword(by, current, { what, ofService })
  }

  #refuseSecondAuthenticator(userId: UserId): void {
    if (!this.#authenticators.has(userId) && !this.#turningOn.has(userId)) return
    throw new ScrapdeckError('BAD_INPUT', sentence('access.authenticator_set_up'))
  }

  #requireUser(id: UserId): ListedUser {
    const user = this.#parts.access.getUser(id)
    if (user !== undefined) return user
    throw new ScrapdeckError('USER_NOT_FOUND', sentence('access.no_user', { id }))
  }

  #passkeysOf(id: UserId): StoredPasskey[] {
    return [...this.#passkeys.values()].filter(({ userId }) => userId === id)
  }

  #begin<T>(begun: Map<UserId, Begun<T>>, userId: UserId, value: T, forMs: number): void {
    begun.set(userId, { value, untilMs: this.#parts.clock.monotonicMs() + forMs })
  }

  #find<T>(begun: Map<UserId, Begun<T>>, userId: UserId): T | null {
    const found = begun.get(userId)
    return found !== undefined && this.#parts.clock.monotonicMs() < found.untilMs ? found.value : null
  }

  #forget(id: UserId): void {
    this.#authenticators.delete(id)
    this.#secrets.delete(id)
    this.#challenges.delete(id)
    for (const passkey of this.#passkeysOf(id)) this.#passkeys.delete(passkey.id)
  }

  #forgetRemovedUsers(): void {
    const users = [...this.#authenticators.values(), ...this.#passkeys.values()].map(({ userId }) => userId)
    for (const id of users) if (this.#parts.access.getUser(id) === undefined) this.#forget(id)
  }

  #announce(): void {
    this.events.emit('changed')
  }
}

const hashAll = (userId: UserId, codes: readonly string[]): string[] =>
  codes.map((code) => hashRecoveryCode(userId, code))

function requirePerson({ userId, tokenId }: Principal, what: string): UserId {
  if (tokenId !== null) {
    throw new ScrapdeckError('PASSWORD_REQUIRED', sentence('access.not_with_token', { what }))
  }
  if (userId !== null) return userId
  throw new ScrapdeckError('BAD_INPUT', sentence('access.service_has_only_password'))
}

function requireSite(site: PasskeySite | NoPasskeySite): PasskeySite {
  if (!('problem' in site)) return site
  throw new ScrapdeckError('BAD_INPUT', site.problem)
}

const notAccepted = (text: Sentence): ScrapdeckError =>
  new ScrapdeckError('UNAUTHORIZED', text, { data: { credentials: 'wrong' } })

const describePasskey = ({ id, name, host, createdAtMs, lastUsedAtMs }: StoredPasskey): Passkey => ({
  id,
  name,
  host,
  createdAtMs,
  lastUsedAtMs
})
