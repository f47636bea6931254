import type { Job, JobFilter } from '../../shared/contract/index.ts'
import type { Client } from './wire.ts'

const PAGE_ROWS = 500
export const BULK_MAX = 10_000

/** Reads the matching jobs, newest first, at most `BULK_MAX`. `onPage` receives the count so far and can stop it. */
export async function readJobs(client: Client, filter: JobFilter, onPage?: (count: number) => boolean): Promise<Job[]> {
  const jobs: Job[] = []
  let before: string | undefined
  do {
    const page = await client.jobs.list({ ...filter, before, limit: PAGE_ROWS })
    jobs.push(...page.jobs)
    before = page.nextBefore ?? undefined
    if (onPage?.(jobs.length) === false) break
  } while (before !== undefined && jobs.length < BULK_MAX)
  return jobs.slice(0, BULK_MAX)
}
