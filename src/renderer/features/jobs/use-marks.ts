import { useCallback, useMemo, useRef, useState } from 'react'
import type { Job, JobFilter } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { readJobs } from '../../api/read-jobs.ts'
import { notifyError } from '../../ui/notify.tsx'

const NO_MARKS: ReadonlySet<string> = new Set()

/** The marked jobs: rows of the list and, once they have been read, all other matches of the filter. */
export function useMarks(rows: readonly Job[], filter: JobFilter) {
  const { client } = useApi()
  const [marks, setMarks] = useState(NO_MARKS)
  /** Marked jobs that are not among the rows, as they were when they were read. */
  const [beyond, setBeyond] = useState<ReadonlyMap<string, Job>>(new Map())
  const [read, setRead] = useState<number | null>(null)
  const reading = useRef(0)

  const clear = useCallback(() => {
    reading.current++
    setMarks(NO_MARKS)
    setBeyond(new Map())
    setRead(null)
  }, [])

  const marked = useMemo(() => {
    if (marks.size === 0) return []
    const here = rows.filter(({ id }) => marks.has(id))
    if (beyond.size === 0) return here
    const shown = new Set(here.map(({ id }) => id))
    return [...here, ...[...beyond.values()].filter(({ id }) => marks.has(id) && !shown.has(id))]
  }, [marks, rows, beyond])

  /** Reads all matching jobs, page by page, and marks them; clearing the marks stops it. */
  const markAll = useCallback(async () => {
    const mine = ++reading.current
    setRead(0)
    try {
      const found = await readJobs(client, filter, (count) => {
        if (mine === reading.current) setRead(count)
        return mine === reading.current
      })
      if (mine !== reading.current) return
      const kept = new Map(found.map((job) => [job.id, job]))
      setBeyond(kept)
      setMarks(new Set(kept.keys()))
    } catch (error) {
      notifyError('Could not select all matches', error)
    } finally {
      if (mine === reading.current) setRead(null)
    }
  }, [client, filter])

  return { marks, setMarks, marked, clear, markAll, read, hasAll: beyond.size > 0 }
}
