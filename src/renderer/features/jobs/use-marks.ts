import { useCallback, useMemo, useRef, useState } from 'react'
import type { Job, JobFilter } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError } from '../../ui/notify.tsx'

const NO_MARKS: ReadonlySet<string> = new Set()
const PAGE_ROWS = 500
/** What one call of a bulk takes. */
const MARKS_MAX = 10_000

/** The marked jobs: rows of the list, and what else matches the filter once somebody asked for all of it. */
export function useMarks(rows: readonly Job[], filter: JobFilter) {
  const { client } = useApi()
  const [marks, setMarks] = useState(NO_MARKS)
  /** Selected jobs that are in no row here, as they were when they were read. */
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

  /** Reads the ids of all that match, page by page, and marks them; clearing the marks breaks it off. */
  const markAll = useCallback(async () => {
    const mine = ++reading.current
    const found = new Map<string, Job>()
    setRead(0)
    try {
      let before: string | undefined
      do {
        const page = await client.jobs.list({ ...filter, before, limit: PAGE_ROWS })
        if (mine !== reading.current) return
        for (const job of page.jobs) found.set(job.id, job)
        before = page.nextBefore ?? undefined
        setRead(found.size)
      } while (before !== undefined && found.size < MARKS_MAX)
      const kept = new Map([...found].slice(0, MARKS_MAX))
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
