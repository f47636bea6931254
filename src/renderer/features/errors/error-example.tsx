import { useQuery } from '@tanstack/react-query'
import type { ErrorOccurrence } from '../../../shared/contract/index.ts'
import { formatOf, parseRecordHead } from '../../../shared/log-record.ts'
import { useApi } from '../../api/api.tsx'
import { plainText } from '../../terminal/sanitise.ts'
import { CodeBlock } from '../../ui/panel.tsx'
import { RowsSkeleton } from '../../ui/states.tsx'

/** A traceback through Scrapy's middlewares has a hundred lines and more. */
const READ_BYTES = 65_536
const MOST_LINES = 400

/** The record as its log has it, with its traceback; its message alone if the log is gone. */
export function ErrorExample({ occurrence }: { occurrence: ErrorOccurrence }) {
  const api = useApi()
  const { jobId, attemptNumber, offset, message } = occurrence
  const log = useQuery(
    api.query.logs.read.queryOptions({
      input: { jobId, attemptNumber, offset, limitBytes: READ_BYTES },
      retry: false,
      staleTime: Number.POSITIVE_INFINITY
    })
  )
  if (log.isPending) return <RowsSkeleton rows={4} />
  const lines = log.data === undefined ? [] : foldLibraries(recordAt(log.data.text))
  return (
    <>
      <CodeBlock label="Example">
        {(lines.length === 0 ? message.split('\n') : lines).map(plainText).join('\n')}
      </CodeBlock>
      {log.isError && <p className="dim">The log of this run is not available: only the message was kept.</p>}
    </>
  )
}

/** The lines of the record that the text begins with: up to the head of the next one. */
export function recordAt(text: string): string[] {
  const lines = text.split('\n')
  const format = formatOf(text)
  const next = lines.findIndex((line, index) => index > 0 && parseRecordHead(line, format) !== null)
  // The last line may be cut.
  return lines.slice(0, Math.min(MOST_LINES, next < 0 ? Math.max(1, lines.length - 1) : next))
}

const FRAME = /^\s*File "/
const OF_LIBRARY = /[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python\d|File "<frozen /

/** Frames of libraries in a row become one line: what the project did is then in sight, and the exception below it. */
export function foldLibraries(lines: readonly string[]): string[] {
  const shown: string[] = []
  let frames = 0
  let isFolding = false
  const unfold = () => {
    if (frames > 0) shown.push(`  … ${frames === 1 ? '1 library frame' : `${frames} library frames`}`)
    frames = 0
  }
  for (const line of lines) {
    if (FRAME.test(line)) {
      isFolding = OF_LIBRARY.test(line)
      if (isFolding) frames += 1
    } else if (isFolding && !/^\s{2,}/.test(line)) isFolding = false
    if (isFolding) continue
    unfold()
    shown.push(line)
  }
  unfold()
  return shown
}
