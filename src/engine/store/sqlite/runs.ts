import type { AttemptChange } from '../../job-rules/attempt-change.ts'
import type { AttemptStart, NewJob } from '../records.ts'
import type { createAttempts } from './attempts.ts'
import type { createEnqueue } from './enqueue.ts'
import type { Outbox } from './outbox.ts'
import type { createQueue } from './queue.ts'

interface Dependencies {
  enqueue: ReturnType<typeof createEnqueue>
  queue: ReturnType<typeof createQueue>
  attempts: ReturnType<typeof createAttempts>
  outbox: Outbox
}

/** Runs that began before we knew of them. Every function runs inside a transaction of its caller. */
export function createRuns({ enqueue, queue, attempts, outbox }: Dependencies) {
  return {
    record(runs: { job: NewJob; start: AttemptStart; changes: AttemptChange[] }[]): void {
      for (const { job, start, changes } of runs) {
        enqueue.insertUnheld(job)
        if (queue.beginAttempts([start]).length === 0) {
          throw new Error(
            `The run of ${job.id} cannot be recorded: another run of its overlap key is live, or it has expired`
          )
        }
        // Another server's history is no news; a run that goes on is.
        const apply = () => attempts.applyChanges(changes)
        if (changes.some(({ to }) => to === 'ended')) outbox.silently(apply)
        else apply()
      }
    }
  }
}
