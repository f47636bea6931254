import { aNodeId } from '../src/shared/testing/ids.ts'
import type { JobCommandsParts } from '../src/engine/api/commands/job-commands.ts'
import type { ElectionOptions } from '../src/engine/cluster/leadership/election.ts'
import type { QueueHead } from '../src/engine/model/records.ts'
import type { Store } from '../src/engine/storage/store.ts'
import { type Mutation, mutation, overridden } from './world/mutations.ts'

export interface Mutant {
  name: string
  mutations: Mutation[]
  /** Rules of the checker. The bug must break at least one of them. */
  breaks: string[]
  /** The simulation finds the bug so quickly that every test run can include it. */
  isQuick?: true
  /** The number of stories within which the bug must be found. */
  seeds: number
  /** Only with several engines (`--mutants --engines 3`). */
  isOfSeveral?: true
}

const TWICE = ['exactly once', 'never ran', 'one run at a time']

function changedStore(change: (store: Store) => Partial<Store>): Mutation {
  return mutation(() => import('../src/engine/storage/sqlite/sqlite-store.ts'), {
    openSqliteStoreHere: (open) => async (options) => {
      const store = await open(options)
      return overridden<typeof store>(store, change(store))
    }
  })
}

function changedElection(change: (options: ElectionOptions) => ElectionOptions): Mutation {
  return mutation(() => import('../src/engine/cluster/leadership/election.ts'), {
    Election: (Original) =>
      class extends Original {
        constructor(options: ElectionOptions) {
          super(change(options))
        }
      }
  })
}

function otherOrder(compare: (one: QueueHead, other: QueueHead) => number): Mutation {
  return changedStore((store) => ({
    async readHeads(wanted) {
      const whole = await store.readHeads(wanted.map(({ lane }) => ({ lane, limit: 10_000 })))
      return whole.map((heads, index) => heads.sort(compare).slice(0, wanted[index]!.limit))
    }
  }))
}

const byId = (one: QueueHead, other: QueueHead) => (one.id < other.id ? -1 : 1)

export const MUTANTS: Mutant[] = [
  {
    name: 'a job is sent again after a time-out',
    mutations: [
      mutation(() => import('../src/engine/nodes/node-client.ts'), {
        NodeError: (Original) =>
          class extends Original {
            constructor(...[kind, said, details]: ConstructorParameters<typeof Original>) {
              const isCut = kind === 'timeout' || kind === 'reset'
              super(kind, said, isCut ? { ...details, delivered: 'no' } : details)
            }
          }
      })
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    // Runs that are considered lost too early usually appear again and are then followed or flagged. The bug disables
    // this too.
    name: 'absence is believed after one snapshot, and nobody looks for what comes back',
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/following/returned-runs.ts'), {
        ReturnedRuns: (Original) =>
          class extends Original {
            override recognise(...[node, snapshot]: Parameters<InstanceType<typeof Original>['recognise']>) {
              return super.recognise(node, { ...snapshot, pending: [], running: [], finished: [] })
            }
          }
      }),
      mutation(() => import('../src/engine/jobs/dispatch/decide/reconcile.ts'), {
        reconcile:
          (reconcile) =>
          (...given) => {
            const found = reconcile(...given)
            const missing = [...found.absences].map(([key, absence]) => ({ key, kind: 'missing' as const, absence }))
            return { ...found, verdicts: [...found.verdicts.filter(({ kind }) => kind !== 'missing'), ...missing] }
          }
      })
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'what was being sent when the engine died is taken for not sent',
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/live-attempts.ts'), {
        LiveAttempts: (Original) =>
          class extends Original {
            readonly #takingOver: { isUnderWay: boolean }

            constructor(parts: ConstructorParameters<typeof Original>[0]) {
              const takingOver = { isUnderWay: false }
              const { store } = parts
              const absent = { to: 'ended', kind: 'absent', result: 'absent', jobOutcome: null } as const
              const forgetful: typeof store = overridden(store, {
                applyChanges: (changes) =>
                  store.applyChanges(
                    takingOver.isUnderWay ? changes.map((change) => ({ ...change, ...absent })) : changes
                  )
              })
              super({ ...parts, store: forgetful })
              this.#takingOver = takingOver
            }

            override async takeOver() {
              this.#takingOver.isUnderWay = true
              const found = await super.takeOver()
              this.#takingOver.isUnderWay = false
              return found
            }
          }
      })
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'a slot counts only when its job was accepted',
    isQuick: true,
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/live-attempts.ts'), {
        LiveAttempts: (Original) =>
          class extends Original {
            override slotsUsedOn(nodeId: string) {
              return (
                super.slotsUsedOn(aNodeId(nodeId)) -
                this.ofNode(aNodeId(nodeId)).filter(({ state }) => state === 'sending').length
              )
            }
          }
      })
    ],
    breaks: ['room on a node'],
    seeds: 100
  },
  {
    name: 'a lost run that is tried again is not flagged',
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/ending/end-run.ts'), {
        endRun: (endRun) => (context, one, end) => {
          const { live } = context
          const unflagged = overridden(live, {
            end: (ended, { mayHaveRunTwice: _flag, ...change }) => live.end(ended, change)
          })
          return endRun({ ...context, live: unflagged }, one, end)
        }
      })
    ],
    breaks: TWICE,
    seeds: 300
  },
  {
    name: 'a job goes before the one that it waits for',
    isQuick: true,
    mutations: [
      mutation(() => import('../src/engine/model/dependencies.ts'), {
        judgeDependencies: (judge) => (all) => {
          const verdict = judge(all)
          return verdict.kind === 'open' ? { kind: 'met' } : verdict
        }
      })
    ],
    breaks: ['dependency'],
    seeds: 100
  },
  {
    name: 'an order is acknowledged before it is on the disk',
    mutations: [
      mutation(() => import('../src/engine/api/commands/job-commands.ts'), {
        JobCommands: (Original) =>
          class extends Original {
            constructor(parts: JobCommandsParts) {
              const { store } = parts
              const hasty: typeof store = overridden(store, {
                async enqueueJobs(jobs) {
                  store.enqueueJobs(jobs).catch(() => {})
                  return jobs.map(({ id }) => id)
                }
              })
              super({ ...parts, store: hasty })
            }
          }
      })
    ],
    breaks: ['acknowledged', 'broken'],
    seeds: 300
  },
  {
    name: 'a transition is written whatever the state is',
    isQuick: true,
    mutations: [
      changedStore((store) => ({
        applyChanges: (changes) =>
          store.applyChanges(
            changes.map((change) => ({
              ...change,
              from: ['sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended']
            }))
          )
      })),
      mutation(() => import('../src/engine/model/transitions.ts'), { assertTransition: () => () => undefined })
    ],
    breaks: ['timeline'],
    seeds: 100
  },
  {
    name: 'limits do not count what is being sent',
    mutations: [
      mutation(() => import('../src/engine/jobs/queue/limits.ts'), {
        LimitBook: (Original) =>
          class extends Original {
            override count(...[counted, by]: Parameters<InstanceType<typeof Original>['count']>) {
              super.count(counted, by)
              for (const rule of this.rulesFor(counted.project, counted.spider)) rule.total -= by
            }
          }
      })
    ],
    breaks: ['limit'],
    seeds: 300
  },
  {
    name: 'a dedupe key is forgotten',
    mutations: [
      changedStore((store) => ({
        enqueueJobs: (jobs) =>
          store.enqueueJobs(jobs.map((job) => ({ ...job, dedupe: job.dedupe && { ...job.dedupe, renew: true } })))
      }))
    ],
    breaks: ['dedupe'],
    seeds: 100
  },
  {
    name: 'a dedupe key lives on for a minute',
    mutations: [
      changedStore((store) => ({
        enqueueJobs: (jobs) =>
          store.enqueueJobs(
            jobs.map(({ dedupe, ...job }) => ({
              ...job,
              dedupe: dedupe && { ...dedupe, expiresAtMs: dedupe.expiresAtMs + 60_000 }
            }))
          )
      }))
    ],
    breaks: ['dedupe'],
    seeds: 100
  },
  {
    name: 'a pause of everything is written down and not obeyed',
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/decide/place.ts'), {
        place: (place) => (input) => place({ ...input, isPaused: false })
      })
    ],
    breaks: ['pause'],
    seeds: 100
  },
  {
    name: 'a paused project is sent all the same',
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/decide/place.ts'), {
        place: (place) => (input) => place({ ...input, isProjectPaused: () => false })
      })
    ],
    breaks: ['pause'],
    seeds: 100
  },
  {
    name: 'priorities are not looked at',
    mutations: [otherOrder((one, other) => one.rank - other.rank || byId(one, other))],
    breaks: ['order'],
    seeds: 100
  },
  {
    name: 'of jobs of one lane the youngest goes first',
    mutations: [otherOrder((one, other) => other.priority - one.priority || other.rank - one.rank || byId(one, other))],
    breaks: ['order'],
    seeds: 300
  },
  {
    name: 'the project with most slots goes first',
    mutations: [
      mutation(() => import('../src/engine/jobs/queue/fair-order.ts'), {
        FairOrder: (Original) =>
          class extends Original {
            constructor(...[lines, shareOf]: ConstructorParameters<typeof Original>) {
              super(lines, (project) => ({ ...shareOf(project), slots: -shareOf(project).slots }))
            }
          }
      })
    ],
    breaks: ['fairness'],
    seeds: 300
  },
  {
    name: 'the database takes what a former leader writes',
    isOfSeveral: true,
    mutations: [mutation(() => import('./world/fence.ts'), { passesFence: () => () => true })],
    breaks: [...TWICE, 'liveness', 'room on a node', 'one live attempt', 'timeline', 'leftover', 'limit'],
    seeds: 300
  },
  {
    name: 'nobody looks at the lease before a job is sent',
    isOfSeveral: true,
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/dispatch.ts'), {
        Dispatch: (Original) =>
          class extends Original {
            constructor(context: ConstructorParameters<typeof Original>[0]) {
              super({ ...context, mayAct: undefined })
            }
          }
      })
    ],
    breaks: ['leader', ...TWICE],
    seeds: 300
  },
  {
    name: 'no patience for what the former leader was sending',
    isOfSeveral: true,
    mutations: [
      mutation(() => import('../src/engine/jobs/dispatch/decide/reconcile.ts'), {
        reconcile: (reconcile) => (believed, snapshot, options) =>
          reconcile(believed, snapshot, { ...options, takenOverApartMs: 0 })
      })
    ],
    breaks: TWICE,
    seeds: 1_000
  },
  {
    name: 'a lease is measured by the wall clock',
    isOfSeveral: true,
    mutations: [
      changedElection(({ clock, ...options }) => ({
        ...options,
        clock: { ...clock, monotonicMs: () => clock.nowMs() }
      }))
    ],
    breaks: ['leader', ...TWICE],
    seeds: 500
  },
  {
    name: 'a leader does not notice that the connection of its lease is lost',
    isOfSeveral: true,
    mutations: [
      changedElection(({ openTable, ...options }) => ({ ...options, openTable: () => openTable({ onLost: () => {} }) }))
    ],
    breaks: ['leader', ...TWICE],
    seeds: 500
  }
]
