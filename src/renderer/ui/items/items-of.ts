import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'

/** Whose items: of the job's last attempt, or of this one. */
export interface ItemsOf {
  jobId: JobId
  attemptNumber?: AttemptNumber | undefined
}
