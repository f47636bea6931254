import type { Attempt, AttemptNumber, JobId, RunFigures } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import type { HeadFormat } from '../../../shared/log-record.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { AttemptReader, JobReader, ReadingStore } from '../../storage/store.ts'
import { type StoredFigures, timesAheadMs } from '../log-parser/stored-figures.ts'
import type { LogCollector } from './log-collector.ts'
import { BoundedMap } from '../../runtime/bounded.ts'

/** The maximum number of cached formats. A viewer needs the log's format for each chunk. */
const FORMATS_KEPT = 200

export class JobFigures {
  readonly #store: JobReader & AttemptReader & Pick<ReadingStore, 'findFigures'>
  readonly #collector: Pick<LogCollector, 'figuresOf' | 'formatOf'>
  readonly #formats = new BoundedMap<string, HeadFormat>(FORMATS_KEPT)

  constructor(parts: {
    store: JobReader & AttemptReader & Pick<ReadingStore, 'findFigures'>
    collector: Pick<LogCollector, 'figuresOf' | 'formatOf'>
  }) {
    this.#store = parts.store
    this.#collector = parts.collector
  }

  async formatOf({ jobId, number, state }: Attempt): Promise<HeadFormat | null> {
    if (state !== 'ended') return this.#collector.formatOf(jobId)
    const key = `${jobId} ${number}`
    let format = this.#formats.get(key)
    if (format === undefined) {
      const figures = JSON.parse((await this.#store.findFigures(jobId, number)) ?? '{}') as StoredFigures
      if (figures.bytes === undefined) return null
      format = figures.format ?? { kind: 'scrapy' }
    }
    this.#formats.set(key, format)
    return format
  }

  /** Resolves to the figures of an attempt, by default the newest. Rejects with JOB_NOT_FOUND or LOG_NOT_FOUND. */
  async of(jobId: JobId, wanted?: AttemptNumber): Promise<RunFigures> {
    await requireJob(this.#store, jobId)
    const attempts = await this.#store.listAttempts(jobId)
    const attempt = wanted === undefined ? attempts.at(-1) : attempts.find(({ number }) => number === wanted)
    if (attempt === undefined) throw new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.no_such_attempt', { jobId }))
    const { number, state, startedAtMs } = attempt
    const live = state === 'ended' ? null : this.#collector.figuresOf(jobId)
    if (live !== null) return describe(live, { jobId, number, isLive: true, aheadMs: timesAheadMs(live, startedAtMs) })
    const stored = await this.#store.findFigures(jobId, number)
    const { aheadMs = 0, ...figures } = JSON.parse(stored ?? '{}') as StoredFigures & { aheadMs?: number }
    // Items may have been counted although the log was not read.
    if (stored === null || figures.bytes === undefined) {
      throw new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.log_not_read_yet', { jobId }))
    }
    return describe(figures, { jobId, number, isLive: false, aheadMs })
  }
}

function describe(
  figures: StoredFigures,
  of: { jobId: JobId; number: AttemptNumber; isLive: boolean; aheadMs: number }
): RunFigures {
  const ours = (atMs: number | null | undefined) => (atMs == null ? null : atMs - of.aheadMs)
  const { series, notes = {}, responses = {}, latest = {}, records = {} } = figures
  return {
    jobId: of.jobId,
    attemptNumber: of.number,
    isLive: of.isLive,
    isPartial: figures.isPartial ?? false,
    bytes: figures.bytes ?? 0,
    lines: figures.lines ?? 0,
    pages: figures.pages ?? null,
    items: figures.items ?? null,
    pagesPerMinute: figures.pagesPerMinute ?? null,
    itemsPerMinute: figures.itemsPerMinute ?? null,
    lastPageAtMs: ours(figures.lastPageAtMs),
    lastItemAtMs: ours(figures.lastItemAtMs),
    firstAtMs: ours(figures.firstAtMs),
    lastAtMs: ours(figures.lastAtMs),
    records: { ...records },
    responses: { ...responses },
    notes: { ...notes },
    latest: Object.fromEntries(Object.entries(latest).filter(([, text]) => text !== null)) as Record<string, string>,
    scrapyVersion: figures.scrapyVersion ?? null,
    pythonVersion: figures.pythonVersion ?? null,
    bot: figures.bot ?? null,
    telnetConsole: figures.telnetConsole ?? null,
    resumedWith: figures.resumedWith ?? null,
    shutdownReason: figures.shutdownReason ?? null,
    finishReason: figures.finishReason ?? null,
    series: series == null ? null : { ...series, startMs: series.startMs - of.aheadMs }
  }
}
