import type { Mutation } from '../world/hooks.ts'

/** A bug that the stories must find, within `STORIES_MAX` of them unless it says otherwise. */
export interface ScheduleMutant {
  name: string
  mutations: Mutation[]
  stories?: number
}

export const STORIES_MAX = 40
/** What each of the stories is like: small, so that many different ones are told. */
export const STORY_SIZE = { schedules: 60, days: 1 }

const SCHEDULER = 'schedules/scheduler.ts'
const COMMANDS = 'commands/schedule-commands.ts'
const FATES = 'schedules/fates.ts'
const PROGRESS = 'store/sqlite/schedules.ts'

export const MUTANTS: ScheduleMutant[] = [
  {
    name: 'what should have been cancelled when the engine died runs on',
    mutations: [
      { file: SCHEDULER, from: 'if (live.length > 1) this.#cancel(', to: 'if (live.length > 1_000) this.#cancel(' }
    ]
  },
  {
    name: 'failures that ended while no engine was there are not counted',
    mutations: [
      {
        file: SCHEDULER,
        from: 'if (stored.settings.pauseAfterFailures !== null) await this.#countFailuresOf(stored.id)',
        to: ''
      }
    ]
  },
  {
    name: 'what ran when the engine died is forgotten',
    mutations: [
      {
        file: 'schedules/live-jobs.ts',
        from: 'await Promise.all(some.map((id) => this.#read(id, backfillOf)))',
        to: 'some.length'
      }
    ]
  },
  {
    name: 'a moment that clocks leave out fires although it is to be skipped',
    mutations: [{ file: FATES, from: 'if (isLeftOut) return leftOut(nominalMs)\n    if (lateMs', to: 'if (lateMs' }]
  },
  {
    name: 'a moment that clocks leave out has no row',
    mutations: [
      {
        file: 'schedules/moments.ts',
        from: "timing.gap === 'skip' ? { ...timing, gap: 'run_at_shift' } : timing",
        to: 'timing'
      }
    ]
  },
  {
    name: 'a resumed schedule goes on from where it was paused',
    mutations: [
      { file: COMMANDS, from: 'if (before.paused) {', to: 'if (before.paused && id.length === 0) {' },
      { file: SCHEDULER, from: 'while (await this.#goOverOne(before));', to: '' },
      { file: SCHEDULER, from: 'isResumed ? stored.changedAtMs - offsetMs : 0', to: '0 * offsetMs * Number(isResumed)' }
    ]
  },
  {
    name: 'what passed in a pause is not written before it ends',
    mutations: [{ file: COMMANDS, from: 'if (before.paused) {', to: 'if (before.paused && id.length === 0) {' }]
  },
  {
    name: 'what passed in a pause is left out when it ends',
    mutations: [
      { file: COMMANDS, from: 'if (before.paused) {', to: 'if (before.paused && id.length === 0) {' },
      { file: SCHEDULER, from: 'while (await this.#goOverOne(before));', to: '' }
    ]
  },
  {
    name: 'how far a schedule is is not stored with its rows',
    mutations: [{ file: PROGRESS, from: 'moveOn.run(doneUntilMs, ', to: 'moveOn.run(null, ' }]
  },
  {
    name: 'how often a schedule has run is not stored with its rows',
    mutations: [{ file: PROGRESS, from: 'Number(isOpen && jobs.length > 0)', to: '0 * jobs.length' }]
  },
  {
    name: 'a moment is late after half a minute',
    mutations: [{ file: FATES, from: 'LATE_AFTER_MS = 60_000', to: 'LATE_AFTER_MS = 30_000' }]
  },
  {
    name: 'the window of what is caught up is a tenth longer',
    mutations: [
      { file: FATES, from: 'settings.catchUpWindowSeconds * 1_000', to: 'settings.catchUpWindowSeconds * 1_100' }
    ]
  },
  {
    name: 'of what was missed each is the last',
    mutations: [{ file: FATES, from: 'moment === newest && !hasMore', to: 'newest !== undefined && !hasMore' }]
  },
  {
    name: 'two runs wait where one may',
    mutations: [{ file: FATES, from: 'if (live.length > 1) return', to: 'if (live.length > 2) return' }]
  },
  {
    name: 'who waits in line waits for the first, not for the last',
    mutations: [{ file: FATES, from: 'after: live.at(-1)!.jobIds', to: 'after: live[0]!.jobIds' }]
  },
  {
    name: 'the run that a newer one takes the place of is not cancelled',
    mutations: [
      {
        file: SCHEDULER,
        from: 'if (written[index] != null) this.#cancel(jobIds)',
        to: 'if (written[index] != null) jobIds.length'
      }
    ]
  },
  {
    name: 'a schedule runs once more than it may',
    mutations: [
      { file: SCHEDULER, from: 'stored.runCount >= maxRuns', to: 'stored.runCount > maxRuns' },
      { file: 'schedules/go-over.ts', from: 'runCount >= maxRuns', to: 'runCount > maxRuns' }
    ]
  },
  {
    name: 'it takes an hour to see that the clock was set',
    mutations: [{ file: SCHEDULER, from: 'SLEEP_MAX_MS = 30_000', to: 'SLEEP_MAX_MS = 3_600_000' }]
  },
  {
    name: 'a clock that is set back by an hour makes a schedule begin anew',
    mutations: [
      {
        file: 'schedules/schedule-state.ts',
        from: 'CLOCK_SET_BACK_MAX_MS = 25 * 3_600_000',
        to: 'CLOCK_SET_BACK_MAX_MS = 3_600_000'
      }
    ]
  },
  {
    name: 'a moment has failed only if all of its jobs did',
    mutations: [
      {
        file: 'schedules/failures.ts',
        from: "statuses.some((status) => status === 'failed' || status === 'lost')",
        to: "statuses.every((status) => status === 'failed' || status === 'lost')"
      }
    ]
  },
  {
    name: 'failures from before a resume count',
    mutations: [{ file: 'schedules/failures.ts', from: 'sinceChange: true', to: 'sinceChange: false' }]
  },
  {
    name: 'which failures were before a resume is told by clocks',
    mutations: [
      {
        file: PROGRESS,
        from: 'SELECT changed_after_firing_id FROM schedule_progress WHERE schedule_id = ?',
        to: 'SELECT max(firings.id) FROM firings JOIN schedules ON schedules.id = schedule_id WHERE schedule_id = ? AND at_ms < changed_at_ms'
      }
    ]
  },
  {
    name: 'rows that could not be written are believed to be there',
    mutations: [
      {
        file: SCHEDULER,
        from: 'const facts = { error, scheduleId: gone[0]?.state.stored.id }',
        to: 'const facts = { error, scheduleId: gone[0]?.state.stored.id }\n        for (const one of gone) this.#believe(one, [])'
      }
    ]
  },
  {
    name: 'rows that could not be written together are written twice',
    mutations: [
      {
        file: SCHEDULER,
        from: 'for (const one of gone) await this.#write([one])',
        to: 'for (const one of [...gone, ...gone]) await this.#write([one])'
      }
    ]
  },
  {
    name: 'of rows that could not be written together, one keeps the others from being written',
    mutations: [
      {
        file: SCHEDULER,
        from: 'if (gone.length > 1) for (const one of gone) await this.#write([one])',
        to: 'if (gone.length > 1) gone.length'
      }
    ]
  },
  {
    name: 'rows that could not be written are not tried again before the next moment',
    mutations: [
      {
        file: SCHEDULER,
        from: 'AGAIN_AFTER_FAILURE_MS = 1_000',
        to: 'AGAIN_AFTER_FAILURE_MS = 60_000'
      }
    ]
  },
  {
    name: 'a moment that could make no job is no failure',
    mutations: [{ file: SCHEDULER, from: "row?.state === 'failed'", to: "row?.state === 'missed'" }]
  },
  {
    name: 'chains follow failures as well as successes',
    mutations: [
      {
        file: 'store/sqlite/chain-ends.ts',
        from: "(condition = 'ended' OR condition = :outcome)",
        to: "(condition = 'ended' OR condition <> '' OR condition = :outcome)"
      }
    ]
  },
  {
    name: 'a chain answers ends that came from itself',
    mutations: [{ file: 'store/sqlite/chain-ends.ts', from: 'AND chain_id = chains.id', to: "AND chain_id = ''" }]
  }
]
