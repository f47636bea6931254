import { servePool, type TaskContext } from '../../../runtime/task-worker.ts'
import { sealLog, type SealSource } from '../archive/seal.ts'
import { FRAME_RAW_BYTES } from '../archive/frames.ts'
import { countNewlines } from './count-newlines.ts'
import { findLines, type FoundLine } from './find-lines.ts'
import { createMatcher, type LineQuery } from './line-matcher.ts'
import { openLogFile, type LogFile, wholeLines } from './log-file.ts'

export interface SearchOrder {
  file: LogFile
  query: LineQuery
  from: number
  to: number
  /** The maximum number of lines to return. Further matching lines are only counted. */
  mostLines: number
  countsLines: boolean
}

export interface SearchedPart {
  found: FoundLine[]
  matches: number
  newlines: number
}

/** Counts the newlines in each FRAME_RAW_BYTES of the log, starting at `from` (a multiple of FRAME_RAW_BYTES). */
export interface CountOrder {
  file: LogFile
  from: number
  to: number
}

servePool({
  seal({ source, target }: { source: SealSource; target: string }) {
    return sealLog(source, target)
  },

  async search({ file, query, from, to, mostLines, countsLines }: SearchOrder, { isStopped }: TaskContext) {
    const log = await openLogFile(file)
    try {
      const found: FoundLine[] = []
      let matches = 0
      const onLine = (line: FoundLine) => {
        matches += 1
        if (found.length < mostLines) found.push(line)
        return true
      }
      const blocks = wholeLines(log, from, Math.min(to, log.sizeBytes))
      const { lines } = findLines(blocks, createMatcher(query), { countsLines, onLine, isStopped })
      return { found, matches, newlines: lines } satisfies SearchedPart
    } finally {
      log.close()
    }
  },

  async countNewlines({ file, from, to }: CountOrder, { isStopped }: TaskContext) {
    const log = await openLogFile(file)
    try {
      const counts: number[] = log.newlines?.slice(from / FRAME_RAW_BYTES, Math.ceil(to / FRAME_RAW_BYTES)) ?? []
      if (log.newlines === undefined)
        for (const { offset, bytes } of log.blocks(from, Math.min(to, log.sizeBytes))) {
          if (isStopped()) break
          const at = Math.floor((offset - from) / FRAME_RAW_BYTES)
          counts[at] = (counts[at] ?? 0) + countNewlines(bytes, 0, bytes.length)
        }
      return Uint32Array.from(counts)
    } finally {
      log.close()
    }
  }
})
