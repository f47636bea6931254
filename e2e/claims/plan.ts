/** The scale of the test of each claim. */
export interface ClaimsOptions {
  /** The number of Scrapyds that pull. */
  nodes: number
  slotsPerNode: number
  jobs: number
  /** Every nth job runs for seconds, the others for a moment. */
  longEvery: number
  longSeconds: number
  /** The number of Scrapyds that start at once. */
  startedAtOnce: number
  /** The faults of the leader while the jobs run, spread evenly over them. */
  strikes: Strike[]
  stallSeconds: number
  /** Identical orders, half of them to each engine at the same moment. */
  orders: number
  schedules: number
  scheduleSeconds: number
  /** How long the schedules fire; the leadership is handed over in the middle. */
  firingSeconds: number
  limitMinutes: number
}

/** Handed over; killed (-9) and restarted; stopped for longer than its lease. */
export type Strike = 'handover' | 'kill' | 'stall'

export const WHOLE: ClaimsOptions = {
  nodes: 50,
  slotsPerNode: 2,
  jobs: 10_000,
  longEvery: 20,
  longSeconds: 3,
  startedAtOnce: 4,
  strikes: ['handover', 'kill', 'stall', 'kill'],
  stallSeconds: 12,
  orders: 1_000,
  schedules: 4,
  scheduleSeconds: 3,
  firingSeconds: 60,
  limitMinutes: 60
}

/**
 * For the integration tests. All slots are taken when the leader is killed, so that it is sending nothing: what a dead
 * engine may have sent would stay in doubt for a minute.
 */
export const SHORT: ClaimsOptions = {
  ...WHOLE,
  nodes: 3,
  jobs: 12,
  longEvery: 1,
  longSeconds: 4,
  startedAtOnce: 3,
  strikes: ['kill'],
  orders: 100,
  schedules: 2,
  scheduleSeconds: 2,
  firingSeconds: 6,
  limitMinutes: 3
}
