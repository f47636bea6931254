export interface ClaimsOptions {
  nodes: number
  slotsPerNode: number
  jobs: number
  longEvery: number
  longSeconds: number
  startedAtOnce: number
  strikes: Strike[]
  stallSeconds: number
  /** The number of identical orders. Each engine receives half of them at the same time. */
  orders: number
  schedules: number
  scheduleSeconds: number
  firingSeconds: number
  limitMinutes: number
}

/** The leader hands over, is killed (-9) and restarted, or is stopped for longer than its lease. */
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
 * All slots are taken when the leader is killed, so that it is not sending a job. A job that a dead engine might have
 * sent stays in doubt for a minute.
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
