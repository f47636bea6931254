import { EventEmitter } from 'node:events'
import type { Problem } from '../../../shared/contract/index.ts'
import { say } from '../../../shared/texts/message.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ChangeLog } from '../../storage/store.ts'
import type { Post } from '../../notify/deliveries/post.ts'
import { problem } from './problem.ts'
import { withoutStop } from '../../../shared/texts/parts.ts'

export interface HeartbeatParts {
  /** A secret, because anyone who knows it can send heartbeats. Never logged. */
  url: string
  everySeconds: number
  store: Pick<ChangeLog, 'changeCursor'>
  post: Post
  clock: Clock
  logger: Logger
}

export interface HeartbeatFailure {
  sinceMs: number
  words: string
}

const REPORTED_AFTER_MS = 300_000

/** Sends heartbeats to an external service, which raises an alarm when they stop. Only the leader sends them. */
export class Heartbeat {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: HeartbeatParts
  #failure: HeartbeatFailure | null = null
  #timer: Timer | null = null
  #stopped = false

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
  }

  start(): void {
    this.#sendIn(0)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  failure(): HeartbeatFailure | null {
    const failure = this.#failure
    return failure !== null && this.#parts.clock.nowMs() - failure.sinceMs >= REPORTED_AFTER_MS ? failure : null
  }

  #sendIn(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#parts.clock.setTimer(delayMs, () => {
      void this.#send().finally(() => this.#sendIn(this.#parts.everySeconds * 1_000))
    })
  }

  async #send(): Promise<void> {
    const failed = await this.#trySend()
    if (this.#stopped) return
    const { clock, logger } = this.#parts
    const before = this.#failure
    if (failed === null) {
      this.#failure = null
      if (before !== null) logger.info({}, 'the heartbeat arrives again')
    } else {
      this.#failure = { sinceMs: before?.sinceMs ?? clock.nowMs(), words: failed }
      if (before === null) logger.warn({ problem: failed }, 'the heartbeat (life_url) could not be sent; trying again')
    }
    if (before !== null || this.#failure !== null) this.events.emit('changed')
  }

  async #trySend(): Promise<string | null> {
    const { url, store, post } = this.#parts
    try {
      await store.changeCursor()
    } catch (error) {
      return `the database does not respond (${(error as Error).name})`
    }
    // Stopping must not raise an alarm. The next engine sends the next heartbeat.
    if (this.#stopped) return null
    const answer = await post({ url, headers: {}, body: '{}' })
    if (answer.kind !== 'status') return withoutStop(answer.problem)
    return answer.status >= 200 && answer.status < 300 ? null : `the receiver answered ${answer.status}`
  }
}

export function heartbeatProblems(failure: HeartbeatFailure | null): Problem[] {
  if (failure === null) return []
  return [
    problem({
      id: 'life-signal',
      severity: 'warning',
      title: say('problem_title.heartbeat'),
      text: say('problem.heartbeat', { reason: failure.words }),
      sinceMs: failure.sinceMs
    })
  ]
}
