import type { History, Violation } from '../work/history.ts'

/** Only the leader may send jobs to nodes. A fence in the database cannot enforce this. */
export function checkLeaders(history: History): Violation[] {
  return history.strays.map(({ atMs, host }) => ({
    rule: 'leader',
    jobId: null,
    text: `after ${Math.round(atMs)} ms, an engine that no longer leads sent a job to ${host}`
  }))
}
