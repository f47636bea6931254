import { hash, randomBytes, randomInt } from 'node:crypto'
import type { SignInApproval, SignInRequester, WaitingSignIn } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import { nameOfSignIn, POLL_SECONDS, readUserCode, USER_CODE_LETTERS, VERIFIER } from '../../shared/sign-in.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Access } from './access.ts'
import { UserAttemptLimiter } from './passwords.ts'
import type { Principal } from './principal.ts'
import { BoundedMap } from '../runtime/bounded.ts'

const CODE_MS = 60_000
const DEVICE_MS = 10 * 60_000
/** The minimum time between two polls. A program that polls sooner ignores the interval that it was given. */
const TOO_SOON_MS = 1_000
const CODES_MAX = 1_000
/**
 * The maximum number of device sign-ins, in total and per address. Anyone can start sign-ins, and one address must not
 * displace the sign-ins of others.
 */
const DEVICES_MAX = 1_000
const DEVICES_OF_ADDRESS_MAX = 10

export interface Grant {
  by: Principal
  /** Whether the session in which the user approved is still open. Otherwise, no token may be created. */
  isSessionOpen: () => boolean
  token: { name: string; expiresInDays: number } & Pick<SignInApproval, 'role' | 'projects'>
}

interface Code {
  grant: Grant
  challenge: string
  redirectUri: string
  untilMs: number
}

interface Device extends WaitingSignIn {
  userCode: string
  untilMs: number
  polledAtMs: number
  answer: Grant | 'denied' | null
}

export type Poll = { is: 'pending' } | { is: 'granted'; grant: Grant }

/**
 * Keeps in memory the sign-ins of programs through the user's browser. After a restart or a leader change, the user
 * must start again. Codes are kept as hashes.
 */
export class SignIns {
  readonly #access: Access
  readonly #clock: Clock
  readonly #guesses: UserAttemptLimiter
  readonly #codes = new BoundedMap<string, Code>(CODES_MAX)
  /** Keyed by the hash of the code that only the program knows. */
  readonly #devices = new BoundedMap<string, Device>(DEVICES_MAX)

  constructor({ access, clock }: { access: Access; clock: Clock }) {
    this.#access = access
    this.#clock = clock
    this.#guesses = new UserAttemptLimiter(clock, 'codes')
  }

  /**
   * Returns the code for the redirect address. null: the program polls and has no redirect address. Throws
   * ROLE_REQUIRED or SIGN_IN_NOT_FOUND.
   */
  approve(
    by: Principal,
    { to, expiresInDays, role, projects }: SignInApproval,
    isSessionOpen: Grant['isSessionOpen']
  ): string | null {
    const device = to.kind === 'code' ? this.#find(by, to.userCode) : null
    const name = nameOfSignIn(to.kind === 'code' ? device! : to.requester)
    const grant: Grant = { by, isSessionOpen, token: { name, expiresInDays, role, projects } }
    this.#access.requireGrantable(by, grant.token)
    if (device !== null) {
      device.answer = grant
      return null
    }
    const { challenge, redirectUri } = to as Extract<SignInApproval['to'], { kind: 'redirect' }>
    const code = secret()
    this.#codes.set(hashOf(code), { grant, challenge, redirectUri, untilMs: this.#clock.monotonicMs() + CODE_MS })
    return code
  }

  /** A code can be redeemed only once, even if the verifier is wrong. Throws SIGN_IN_FAILED. */
  redeem({ code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string }): Grant {
    const key = hashOf(code)
    const found = this.#codes.get(key)
    this.#codes.delete(key)
    const isRight =
      found !== undefined &&
      this.#clock.monotonicMs() < found.untilMs &&
      found.redirectUri === redirectUri &&
      VERIFIER.test(verifier) &&
      hash('sha256', verifier, 'base64url') === found.challenge
    if (!isRight) throw failed('The code of this sign-in is wrong, was already used, or is older than a minute')
    this.requireAllowed(found.grant)
    return found.grant
  }

  begin(
    requester: SignInRequester,
    address: string
  ): { deviceCode: string; userCode: string; expiresInSeconds: number } {
    this.#forgetExpired()
    const own = [...this.#devices].filter(([, device]) => device.address === address)
    if (own.length >= DEVICES_OF_ADDRESS_MAX) this.#devices.delete(own[0]![0])
    const deviceCode = secret()
    const taken = new Set([...this.#devices.values()].map(({ userCode }) => userCode))
    let userCode
    do userCode = makeUserCode()
    while (taken.has(userCode))
    const nowMs = this.#clock.nowMs()
    this.#devices.set(hashOf(deviceCode), {
      ...requester,
      address,
      userCode,
      beganAtMs: nowMs,
      endsAtMs: nowMs + DEVICE_MS,
      untilMs: this.#clock.monotonicMs() + DEVICE_MS,
      polledAtMs: Number.NEGATIVE_INFINITY,
      answer: null
    })
    return { deviceCode, userCode, expiresInSeconds: DEVICE_MS / 1_000 }
  }

  /** Throws SIGN_IN_FAILED if the sign-in was denied or has expired, and TOO_MANY_REQUESTS. */
  poll(deviceCode: string): Poll {
    this.#forgetExpired()
    const key = hashOf(deviceCode)
    const device = this.#devices.get(key)
    if (device === undefined) throw failed('This sign-in was already finished, or is older than ten minutes')
    const nowMs = this.#clock.monotonicMs()
    const sinceMs = nowMs - device.polledAtMs
    device.polledAtMs = nowMs
    if (sinceMs < TOO_SOON_MS) {
      throw new ScrapdeckError(
        'TOO_MANY_REQUESTS',
        sentence('access.polled_too_often', { pollSeconds: POLL_SECONDS }),
        {
          data: { retryAfterSeconds: POLL_SECONDS }
        }
      )
    }
    if (device.answer === null) return { is: 'pending' }
    this.#devices.delete(key)
    if (device.answer === 'denied') throw failed('The sign-in was denied in the browser')
    this.requireAllowed(device.answer)
    return { is: 'granted', grant: device.answer }
  }

  /** Throws SIGN_IN_NOT_FOUND, and TOO_MANY_REQUESTS for a user who guesses codes. */
  get(by: Principal, userCode: string): WaitingSignIn {
    const { client, host, user, address, beganAtMs, endsAtMs } = this.#find(by, userCode)
    return { client, host, user, address, beganAtMs, endsAtMs }
  }

  deny(by: Principal, userCode: string): void {
    this.#find(by, userCode).answer = 'denied'
  }

  #find(by: Principal, typed: string): Device {
    this.#forgetExpired()
    const who = by.userId ?? 'owner'
    this.#guesses.begin(who)
    const code = readUserCode(typed)
    const found = [...this.#devices.values()].find(({ userCode, answer }) => userCode === code && answer === null)
    // Correct codes count as attempts too, because a user who knows one code could guess others.
    if (found !== undefined) return found
    throw new ScrapdeckError('SIGN_IN_NOT_FOUND', sentence('access.no_sign_in_with_code'))
  }

  /** Throws SIGN_IN_FAILED if the user who approved the sign-in was logged out or disabled afterwards. */
  requireAllowed({ by, isSessionOpen }: Grant): void {
    if (this.#access.isCurrent(by) && isSessionOpen()) return
    throw failed('The user who allowed this sign-in has been logged out or changed since')
  }

  #forgetExpired(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const map of [this.#codes, this.#devices]) {
      for (const [key, { untilMs }] of map as Map<string, { untilMs: number }>) if (untilMs <= nowMs) map.delete(key)
    }
  }
}

const failed = (text: string): ScrapdeckError =>
  new ScrapdeckError('SIGN_IN_FAILED', sentence('access.sign_in_failed', { text }))
const secret = (): string => randomBytes(32).toString('base64url')
const hashOf = (text: string): string => hash('sha256', text)
const makeUserCode = (): string =>
  Array.from({ length: 8 }, () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)]).join('')
