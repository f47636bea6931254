import { implement } from '@orpc/server'
import { AttemptNumber, contract, type Job } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { matchesGlob } from '../../shared/glob.ts'
import { parseRecordHead, RECORD_LEVELS } from '../../shared/log-record.ts'
import { fakeLogLine } from './fake-fleet.ts'
import { type FakeWorld, wait } from './fake-world.ts'

export function createFakeLogs({ jobs, jobOf }: FakeWorld) {
  const os = implement(contract)
  return {
    read: os.logs.read.handler(({ input }) => {
      if (jobOf(input.jobId).startedAtMs === null)
        throw new ScrapdeckError('LOG_NOT_FOUND', `Job ${input.jobId} has left no log that can be reached yet`)
      const bytes = new TextEncoder().encode(input.printed === true ? 'tulip 1\n' : logOf(jobOf(input.jobId)))
      const offset = input.offset < 0 ? Math.max(0, bytes.length + input.offset) : Math.min(input.offset, bytes.length)
      const piece = bytes.slice(offset, offset + input.limitBytes)
      return {
        offset,
        nextOffset: offset + piece.length,
        sizeBytes: bytes.length,
        text: new TextDecoder().decode(piece),
        complete: jobOf(input.jobId).state === 'ended' && offset + piece.length >= bytes.length
      }
    }),
    tail: os.logs.tail.handler(async function* ({ input, signal }) {
      const existing = logOf(jobOf(input.jobId))
      let offset = input.offset ?? Math.max(0, existing.length - input.tailBytes)
      const complete = () => jobOf(input.jobId).state === 'ended'
      yield {
        offset,
        nextOffset: existing.length,
        sizeBytes: existing.length,
        text: existing.slice(offset),
        complete: complete()
      }
      offset = existing.length
      for (let line = 400; !signal?.aborted && !complete(); line++) {
        await wait(300)
        const text = fakeLogLine(jobOf(input.jobId), line)
        yield {
          offset,
          nextOffset: offset + text.length,
          sizeBytes: offset + text.length,
          text,
          complete: complete()
        }
        offset += text.length
      }
    }),
    locate: os.logs.locate.handler(({ input }) => {
      const lines = linesOf(jobOf(input.jobId))
      const isWanted = ({ number, offset, text }: FakeLine): boolean => {
        if (input.time !== undefined) return text.slice(11) >= input.time
        if (input.offset !== undefined) return offset + text.length >= input.offset
        return number >= (input.line ?? lines.length)
      }
      const { number: line, offset } = lines.find(isWanted) ?? lines.at(-1)!
      return { line, offset, lines: lines.length, sizeBytes: logOf(jobOf(input.jobId)).length }
    }),
    search: os.logs.search.handler(async function* ({ input }) {
      const { text, isRegex, matchesCase, mostLines } = input
      const found = findIn(jobOf(input.jobId), { text, isRegex, matchesCase })
      const sizeBytes = logOf(jobOf(input.jobId)).length
      const figures = { matches: found.length, searchedBytes: sizeBytes, sizeBytes }
      yield { state: 'searching' as const, found: found.slice(0, mostLines), ...figures }
      yield { state: 'complete' as const, found: [], ...figures }
    }),
    zip: os.logs.zip.handler(async function* ({ input: { jobIds } }) {
      for (const [index, id] of jobIds.entries()) yield { base64: btoa(id), logs: index + 1 }
    }),
    searchAll: os.logs.searchAll.handler(async function* ({ input }) {
      const { project, spider, nodeId, outcome, minLevel, mostHits } = input
      const counts = { ruledOut: { logs: 0, bytes: 0 }, scanned: { logs: 0, bytes: 0 }, unreadable: 0 }
      let left = mostHits
      const kept = [...jobs.values()].filter(({ state, startedAtMs }) => state === 'ended' && startedAtMs !== null)
      const after = input.cursor === undefined ? -1 : kept.findIndex(({ id }) => `${id}.1` === input.cursor)
      for (const job of kept.slice(after + 1)) {
        if (!matchesGlob(project ?? null, job.project) || !matchesGlob(spider ?? null, job.spider)) continue
        if ((nodeId ?? job.nodeId) !== job.nodeId || (outcome ?? job.outcome) !== job.outcome) continue
        const hits = findIn(job, input).flatMap((line) => {
          const head = parseRecordHead(line.text)
          const isBelow =
            head === null || RECORD_LEVELS.indexOf(head.level) < RECORD_LEVELS.indexOf(minLevel ?? 'DEBUG')
          if (isBelow && minLevel !== undefined) return []
          const { id: jobId, project: of, spider: by, nodeId: on } = job
          const time = head === null ? null : `${head.date} ${head.time}`
          const run = { jobId, attemptNumber: AttemptNumber.parse(1), project: of, spider: by, nodeId: on! }
          return [{ ...line, ...run, level: head?.level ?? null, time }]
        })
        counts.scanned.logs += 1
        counts.scanned.bytes += logOf(job).length
        if (hits.length > 0)
          yield { hits: hits.slice(0, left), ...structuredClone(counts), stoppedBy: null, cursor: null }
        left -= hits.length
        if (left > 0) continue
        yield { hits: [], ...counts, stoppedBy: 'hits' as const, cursor: `${job.id}.1` }
        return
      }
      yield { hits: [], ...counts, stoppedBy: 'end' as const, cursor: null }
    })
  }
}

interface FakeLine {
  number: number
  offset: number
  text: string
}

function findIn(job: Job, { text, isRegex, matchesCase }: { text: string; isRegex: boolean; matchesCase: boolean }) {
  const pattern = new RegExp(isRegex ? text : text.replace(/[.*+?^$()[\]{}|\\]/g, '\\$&'), matchesCase ? '' : 'i')
  return linesOf(job).flatMap(({ number, offset, text: line }) => {
    const match = pattern.exec(line)
    if (match === null) return []
    return [{ line: number, offset, text: line, matchAt: match.index, matchLength: match[0].length }]
  })
}

function linesOf(job: Job): FakeLine[] {
  if (job.startedAtMs === null) throw new ScrapdeckError('LOG_NOT_FOUND', `Job ${job.id} has no readable log yet`)
  let offset = 0
  return logOf(job)
    .trimEnd()
    .split('\n')
    .map((text, index) => {
      const line = { number: index + 1, offset, text }
      offset += text.length + 1
      return line
    })
}

function logOf(job: Job): string {
  if (job.startedAtMs === null) return ''
  return Array.from({ length: 400 }, (_, index) => fakeLogLine(job, index)).join('')
}
