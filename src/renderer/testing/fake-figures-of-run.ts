import { AttemptNumber, type Job, type RunFigures } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** The figures that the engine would read from a fake run's log. */
export function fakeFigures({ id, state, startedAtMs, endedAtMs, pages, items, errors }: Job): RunFigures {
  if (startedAtMs === null) throw new ScrapdeckError('LOG_NOT_FOUND', `The log of job ${id} has not been read yet`)
  const untilMs = endedAtMs ?? Date.now()
  const minutes = Math.max(1, Math.min(60, Math.ceil((untilMs - startedAtMs) / 60_000)))
  const growing = (total: number | null) =>
    Array.from({ length: minutes }, (_, minute) => Math.round(((total ?? 0) * (minute + 1)) / minutes))
  return {
    jobId: id,
    attemptNumber: AttemptNumber.parse(1),
    isLive: state !== 'ended',
    isPartial: false,
    bytes: 84_113,
    lines: 812,
    pages,
    items,
    pagesPerMinute: 60,
    itemsPerMinute: 12,
    lastPageAtMs: untilMs,
    lastItemAtMs: untilMs,
    firstAtMs: startedAtMs,
    lastAtMs: untilMs,
    records: { DEBUG: 780, INFO: 20, WARNING: 4, ERROR: errors ?? 0 },
    responses: { 200: pages ?? 0, 404: 3, 503: 2 },
    notes: { retries: 3, duplicates: 12, robotsForbidden: 1 },
    latest: { crawl: 'Crawled (200) <GET https://shop.example.com/p/118>' },
    scrapyVersion: '2.13.4',
    pythonVersion: '3.12.4',
    bot: 'shop',
    telnetConsole: null,
    resumedWith: null,
    shutdownReason: null,
    finishReason: state === 'ended' ? 'finished' : null,
    series: {
      startMs: startedAtMs,
      widthMs: 60_000,
      pages: growing(pages),
      items: growing(items),
      errors: growing(errors)
    }
  }
}
