/** A spider's behavior, defined by its job's arguments, so a job behaves the same on every node. */
export interface SpiderPlan {
  runMs: number
  end: 'finished' | 'error' | 'crash'
  /** Whether the spider ignores INT and TERM. */
  isStubborn: boolean
  /** Whether the spider writes no lines between its first and last ones. */
  isQuiet: boolean
}

export function planOf(args: Record<string, string>): SpiderPlan {
  const end = args['end'] === 'error' || args['end'] === 'crash' ? args['end'] : 'finished'
  return {
    runMs: Number(args['runMs'] ?? 2_000),
    end,
    isStubborn: args['stubborn'] === 'yes',
    isQuiet: args['quiet'] === 'yes'
  }
}

export interface Run {
  node: string
  project: string
  spider: string
  version: string
  jobid: string
  settings: Record<string, string>
  args: Record<string, string>
  priority: number
  /** The order of arrival, which decides between jobs of the same priority in Scrapyd's queue. */
  order: number
  acceptedAtMs: number
  isStranger: boolean
  state: 'pending' | 'running' | 'over'
  /** Whether the node lists the run. A restarted node forgets its runs, even if their processes survive. */
  isListed: boolean
  pid: number | null
  startedAtMs: number | null
  endedAtMs: number | null
  /** How the process ended. `died` means with its node, without a line in its log. */
  ended: 'finished' | 'error' | 'crash' | 'shutdown' | 'killed' | 'died' | 'no egg' | null
  signals: number
  log: Log | null
}

export interface Log {
  isGone: boolean
  isForbidden: boolean
  cutBytes: number
}

const LINE_EVERY_MS = 5_000
const OPENED = '2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider opened\n'
const LINE = '2026-01-01 00:00:05 [scrapy.extensions.logstats] INFO: Crawled 10 pages (at 10 pages/min)\n'

export function logText(run: Run, nowMs: number): string {
  const plan = planOf(run.args)
  const aliveMs = (run.endedAtMs ?? nowMs) - run.startedAtMs!
  const body = OPENED + (plan.isQuiet ? '' : LINE.repeat(Math.floor(aliveMs / LINE_EVERY_MS)))
  const whole = body + closingOf(run, aliveMs)
  return run.log!.cutBytes === 0 ? whole : whole.slice(0, Math.max(0, whole.length - run.log!.cutBytes))
}

function closingOf(run: Run, aliveMs: number): string {
  if (run.ended === 'crash') {
    return '2026-01-01 00:00:09 [twisted] CRITICAL: Unhandled error in Deferred:\nMemoryError\n'
  }
  const reason = { finished: 'finished', error: 'closespider_errorcount', shutdown: 'shutdown' }[
    run.ended as 'finished'
  ]
  if (reason === undefined) return ''
  return (
    `2026-01-01 00:00:09 [scrapy.core.engine] INFO: Closing spider (${reason})\n` +
    '2026-01-01 00:00:09 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n' +
    `{'elapsed_time_seconds': ${aliveMs / 1000},\n 'finish_reason': '${reason}',\n 'item_scraped_count': 3}\n` +
    `2026-01-01 00:00:09 [scrapy.core.engine] INFO: Spider closed (${reason})\n`
  )
}
