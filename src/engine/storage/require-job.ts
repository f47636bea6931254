import type { JobId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { StoredJob } from '../model/records.ts'
import type { JobReader } from './store.ts'

export const noJob = (id: JobId): ScrapdeckError =>
  new ScrapdeckError('JOB_NOT_FOUND', sentence('storage.no_job', { id }))

/** Rejects with JOB_NOT_FOUND. */
export async function requireJob(store: Pick<JobReader, 'getJob'>, id: JobId): Promise<StoredJob> {
  const job = await store.getJob(id)
  if (job === null) throw noJob(id)
  return job
}
