import type { Mutation } from './world/hooks.ts'

/** A bug that the simulation must find. */
export interface Mutant {
  name: string
  mutations: Mutation[]
  /** Rules of the checker of which it breaks one. */
  breaks: string[]
  /** Found so fast that every test run can look for it. */
  isQuick?: true
  /** It is found within so many stories. */
  seeds: number
}

const TWICE = ['exactly once', 'never ran', 'one run at a time']

export const MUTANTS: Mutant[] = [
  {
    name: 'a job is sent again after a time-out',
    mutations: [
      {
        file: 'dispatch/placing/sender.ts',
        from: "if (error.delivered === 'unknown') return",
        to: "if (error.delivered === 'unknown' && error.kind !== 'timeout' && error.kind !== 'reset') return"
      }
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    // What is believed too early is mostly seen again, and then followed on or flagged: both must fail.
    name: 'absence is believed after one snapshot, and nobody looks for what comes back',
    mutations: [
      {
        file: 'dispatch/following/returned-runs.ts',
        from: 'if (asked.size > 0) {',
        to: 'if (asked.size > 1_000_000) {'
      },
      {
        file: 'dispatch/decide/reconcile.ts',
        from: 'absence.snapshots >= 2 && snapshot.begunAtMs - absence.firstBegunAtMs > nodePollIntervalMs',
        to: 'absence.snapshots >= 1 && nodePollIntervalMs >= 0 && snapshot !== null'
      }
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'what was being sent when the engine died is taken for not sent',
    mutations: [
      {
        file: 'dispatch/live-attempts.ts',
        from: "to: 'uncertain' as const,\n          kind: 'uncertain' as const,\n          entry: {",
        to: "to: 'ended' as const, result: 'absent' as const, jobOutcome: null,\n          kind: 'absent' as const,\n          entry: {"
      }
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'a slot counts only when its job was accepted',
    isQuick: true,
    mutations: [
      {
        file: 'dispatch/live-attempts.ts',
        from: "=== live && live.state !== 'finishing'",
        to: "=== live && live.state !== 'finishing' && live.state !== 'sending'"
      }
    ],
    breaks: ['room on a node'],
    seeds: 100
  },
  {
    name: 'a lost run that is tried again is not flagged',
    mutations: [
      {
        file: 'dispatch/ending/conclude.ts',
        from: "...(goesOn && end.result === 'lost' ? { mayHaveRunTwice: true as const } : {}),",
        to: ''
      }
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'a job goes before the one that it waits for',
    isQuick: true,
    mutations: [{ file: 'job-rules/dependencies.ts', from: "isOpen ? 'open' : 'met'", to: "isOpen ? 'met' : 'met'" }],
    breaks: ['dependency'],
    seeds: 100
  },
  {
    name: 'an order is acknowledged before it is on the disk',
    mutations: [
      {
        file: 'commands/job-commands.ts',
        from: 'await this.#parts.store.enqueueJobs(jobs)',
        to: 'jobs.map(({ id }) => id); this.#parts.store.enqueueJobs(jobs).catch(() => {})'
      }
    ],
    breaks: ['acknowledged', 'broken'],
    seeds: 300
  },
  {
    name: 'a transition is written whatever the state is',
    isQuick: true,
    mutations: [
      {
        file: 'store/sqlite/attempts.ts',
        from: "if (before === undefined || !change.from.includes(before.state as Attempt['state'])) return false",
        to: 'if (before === undefined) return false'
      },
      { file: 'job-rules/transitions.ts', from: 'if (isLegal) return', to: 'return' }
    ],
    breaks: ['timeline'],
    seeds: 100
  },
  {
    name: 'limits do not count what is being sent',
    mutations: [{ file: 'queue/limits.ts', from: 'counted.total += by', to: 'counted.total += 0 * by' }],
    breaks: ['limit'],
    seeds: 300
  },
  {
    name: 'a dedupe key is forgotten',
    mutations: [{ file: 'store/sqlite/enqueue.ts', from: 'if (earlier !== undefined) return earlier', to: '' }],
    breaks: ['dedupe'],
    seeds: 100
  },
  {
    name: 'a dedupe key lives on for a minute',
    mutations: [
      {
        file: 'store/sqlite/enqueue.ts',
        from: 'jobWithKey.get(job.dedupe.key, nowMs)',
        to: 'jobWithKey.get(job.dedupe.key, nowMs - 60_000)'
      }
    ],
    breaks: ['dedupe'],
    seeds: 100
  },
  {
    name: 'a pause of everything is written down and not obeyed',
    mutations: [{ file: 'dispatch/placing/dispatcher.ts', from: 'isPaused: this.paused,', to: 'isPaused: false,' }],
    breaks: ['pause'],
    seeds: 100
  },
  {
    name: 'a paused project is sent all the same',
    mutations: [
      {
        file: 'dispatch/decide/place.ts',
        from: 'if (isProjectPaused(line.project)) {',
        to: 'if (isProjectPaused("")) {'
      }
    ],
    breaks: ['pause'],
    seeds: 100
  },
  {
    name: 'priorities are not looked at',
    mutations: [
      {
        file: 'store/sqlite/queue.ts',
        from: 'lane = ? ORDER BY priority DESC, rank, id LIMIT ?',
        to: 'lane = ? ORDER BY rank, id LIMIT ?'
      }
    ],
    breaks: ['order'],
    seeds: 100
  },
  {
    name: 'of jobs of one lane the youngest goes first',
    mutations: [
      {
        file: 'store/sqlite/queue.ts',
        from: 'lane = ? ORDER BY priority DESC, rank, id LIMIT ?',
        to: 'lane = ? ORDER BY priority DESC, rank DESC, id LIMIT ?'
      }
    ],
    breaks: ['order'],
    seeds: 300
  },
  {
    name: 'the project with most slots goes first',
    mutations: [{ file: 'queue/fair-order.ts', from: 'return difference < 0', to: 'return difference > 0' }],
    breaks: ['fairness'],
    seeds: 300
  }
]
