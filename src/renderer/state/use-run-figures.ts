import { useQuery } from '@tanstack/react-query'
import type { AttemptNumber, JobId, RunFigures } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'

/** Figures from a run's log, updated while it runs. Default: the newest attempt. */
export function useRunFigures(id: JobId, attemptNumber?: AttemptNumber): RunFigures | undefined {
  const { query } = useApi()
  const input = attemptNumber === undefined ? { id } : { id, attemptNumber }
  // A log that has not been read yet needs no retry: its first progress event triggers a refetch.
  return useQuery(query.jobs.figures.queryOptions({ input, retry: false })).data
}
