/** How much of each claim is shown. */
export interface ClaimsOptions {
  /** Scrapyds that pull. */
  nodes: number
  slotsPerNode: number
  jobs: number
  /** So many Scrapyds start at once. */
  startedAtOnce: number
  /** What strikes the leader while the jobs run, spread evenly over them. */
  strikes: Strike[]
  stallSeconds: number
  /** Identical orders, half of them to each engine at the same moment. */
  orders: number
  schedules: number
  scheduleSeconds: number
  /** For so long the schedules fire; the leadership is handed over in the middle. */
  firingSeconds: number
  limitMinutes: number
}

/** Handed over; killed (-9) and started again; stopped for longer than its lease lasts. */
export type Strike = 'handover' | 'kill' | 'stall'

export const WHOLE: ClaimsOptions = {
  nodes: 50,
  slotsPerNode: 2,
  jobs: 10_000,
  startedAtOnce: 4,
  strikes: ['handover', 'kill', 'stall', 'kill'],
  stallSeconds: 12,
  orders: 1_000,
  schedules: 4,
  scheduleSeconds: 3,
  firingSeconds: 60,
  limitMinutes: 60
}

/** For the integration tests. A kill is left out: what the leader was sending then stays in doubt for a minute. */
export const SHORT: ClaimsOptions = {
  ...WHOLE,
  nodes: 3,
  jobs: 120,
  startedAtOnce: 3,
  strikes: ['handover'],
  orders: 200,
  schedules: 2,
  scheduleSeconds: 2,
  firingSeconds: 8,
  limitMinutes: 3
}
