import type { AlertTarget } from '../../../shared/contract/index.ts'
import type { StoredDelivery, StoredWebhook } from '../../store/records.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { AddressGuard } from '../addresses.ts'
import type { SendResult } from '../plan-try.ts'
import type { Post } from '../post.ts'

/** What was said on both sides, for people, without secrets. */
export interface TestResult {
  ok: boolean
  answer: string
  conversation: string[]
}

/** Sends what alerts say to where people are. */
export interface Channels {
  /** Throws BAD_INPUT and WEBHOOK_URL_FORBIDDEN for a target that can never work. */
  check(target: AlertTarget, hasSecret: boolean): void
  /** Never rejects, and enforces its own timeout. `delivery.body`: JSON with an AlertNews as `data`. */
  send(channel: StoredWebhook, delivery: StoredDelivery): Promise<SendResult>
  /** Sends an example. Never rejects. */
  test(channel: StoredWebhook): Promise<TestResult>
}

export interface ChannelsParts {
  secretBox: SecretBox
  clock: Clock
  guard: AddressGuard
  post: Post
}

export function createChannels(_parts: ChannelsParts): Channels {
  throw new Error('not written yet')
}
