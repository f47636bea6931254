import { EventEmitter } from 'node:events'
import type { AlertRule, JobFilter, Problem, Waiting } from '../../../shared/contract/index.ts'
import { Alarm, type Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { StoredJob, StoredSchedule } from '../../model/records.ts'
import type {
  ChainStore,
  ChangeLog,
  DeliveryStore,
  FiringReader,
  JobReader,
  LaneReader,
  ScheduleReader,
  WebhookReader
} from '../../storage/store.ts'
import { type ChannelTrouble, readChannelTroubles } from './channel-problems.ts'
import { findLongWaits, type LongWait } from './long-waits.ts'
import { listProblems, type ProblemsInput } from './problems.ts'
import {
  allScheduleProblems,
  NO_SCHEDULE_TROUBLES,
  readScheduleTroubles,
  type ScheduleTroubles
} from './schedule-problems.ts'

type ReadHere = 'recentFailures' | 'longWaits' | 'schedules' | 'namesakes' | 'channels' | 'pluginsWithoutChannel'

export interface ProblemWatchParts {
  store: JobReader &
    LaneReader &
    FiringReader &
    ScheduleReader &
    ChainStore &
    ChangeLog &
    WebhookReader &
    Pick<DeliveryStore, 'listDeliveries'>
  clock: Clock
  logger: Logger
  waitingOf: (lane: string) => Waiting
  alertRules: () => readonly AlertRule[]
  alertPlugins: () => readonly string[]
  gather: () => Omit<ProblemsInput, 'nowMs' | ReadHere>
}

const CHECK_AFTER_MS = 500
const FAILURES_READ = 200
const DAY_MS = 86_400_000
const NAMESAKES_READ = 100
/** How often to look for long waits. They are reported after an hour, so a minute does not matter. */
const LONG_WAITS_EVERY_MS = 60_000
const CHANNELS_EVERY_MS = 60_000

export class ProblemWatch {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: ProblemWatchParts
  #recentFailures: StoredJob[] = []
  #failuresAreOld = true
  #longWaits: LongWait[] = []
  #longWaitsReadAtMs = Number.NEGATIVE_INFINITY
  #schedules: ScheduleTroubles = NO_SCHEDULE_TROUBLES
  #schedulesAreOld = true
  #namesakes: StoredSchedule[] = []
  #channels: ChannelTrouble[] = []
  #pluginsWithoutChannel: string[] = []
  #channelsAreOld = true
  /** Triggers a check between two attempts to send a message if no event does. */
  readonly #channelsAlarm: Alarm
  readonly #alarm: Alarm
  #announced = ''
  #stopped = false

  constructor(parts: ProblemWatchParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => void this.#check())
    this.#channelsAlarm = new Alarm(parts.clock, () => this.refreshChannels())
  }

  current(): Problem[] {
    const { clock, gather } = this.#parts
    return listProblems({
      ...gather(),
      nowMs: clock.nowMs(),
      recentFailures: this.#recentFailures,
      longWaits: this.#longWaits,
      schedules: this.#schedules,
      namesakes: this.#namesakes,
      channels: this.#channels,
      pluginsWithoutChannel: this.#pluginsWithoutChannel
    })
  }

  /** All problems with schedules, including those that `current` omits. */
  ofSchedules(): Problem[] {
    return allScheduleProblems(this.#schedules)
  }

  /** Call this when the cause of a problem may have changed. Several calls cause one check. */
  scheduleCheck(): void {
    this.#alarm.set(CHECK_AFTER_MS)
  }

  refreshFailures(): void {
    this.#failuresAreOld = true
    this.scheduleCheck()
  }

  refreshChannels(): void {
    this.#channelsAreOld = true
    this.scheduleCheck()
  }

  refreshSchedules(): void {
    this.#schedulesAreOld = true
    this.scheduleCheck()
  }

  stop(): void {
    this.#stopped = true
    this.#alarm.stop()
    this.#channelsAlarm.stop()
  }

  async #check(): Promise<void> {
    const { store, clock, waitingOf } = this.#parts
    if (this.#failuresAreOld) {
      this.#failuresAreOld = false
      const asked: JobFilter = { status: ['failed', 'lost'], sinceMs: clock.nowMs() - DAY_MS }
      const isRead = await this.#tryTo('read the recent failures', async () => {
        this.#recentFailures = await store.listJobs(asked, { before: null, limit: FAILURES_READ })
      })
      if (!isRead) this.#failuresAreOld = true
    }
    if (clock.monotonicMs() - this.#longWaitsReadAtMs >= LONG_WAITS_EVERY_MS) {
      this.#longWaitsReadAtMs = clock.monotonicMs()
      await this.#tryTo('read which jobs wait too long', async () => {
        this.#longWaits = await findLongWaits(store, waitingOf, clock.nowMs())
      })
      await this.#tryTo('read which schedules share a name', async () => {
        const page = { after: null, limit: NAMESAKES_READ }
        this.#namesakes = (await store.pageSchedules({ hasNamesake: true }, page)).schedules
      })
      // Missed firings stop being a problem after a day, so they are read again.
      this.#schedulesAreOld = true
    }
    if (this.#channelsAreOld) {
      this.#channelsAreOld = false
      const isRead = await this.#tryTo('read which alert channels fail', async () => {
        const asked = { rules: this.#parts.alertRules(), plugins: this.#parts.alertPlugins(), nowMs: clock.nowMs() }
        const { troubles, pluginsWithoutChannel, mayFollow } = await readChannelTroubles(store, asked)
        this.#channels = troubles
        this.#pluginsWithoutChannel = pluginsWithoutChannel
        if (mayFollow) this.#channelsAlarm.set(CHANNELS_EVERY_MS)
      })
      if (!isRead) this.#channelsAreOld = true
    }
    if (this.#schedulesAreOld) {
      this.#schedulesAreOld = false
      const isRead = await this.#tryTo('read the problems of schedules', async () => {
        this.#schedules = await readScheduleTroubles(store, clock.nowMs())
      })
      if (!isRead) this.#schedulesAreOld = true
    }
    if (this.#stopped) return
    const now = JSON.stringify(this.current().map(({ id, title }) => [id, title]))
    if (now !== this.#announced) this.events.emit('changed')
    this.#announced = now
  }

  async #tryTo(words: string, read: () => Promise<void>): Promise<boolean> {
    try {
      await read()
      return true
    } catch (error) {
      if (!this.#stopped) this.#parts.logger.error({ error }, `failed to ${words}`)
      return false
    }
  }
}
