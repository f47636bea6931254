import { expect, test } from 'vitest'
import { whyNoPostgres } from '../src/engine/storage/postgres/testing/start-postgres.ts'
import { isLong } from '../scripts/test-length.mjs'
import * as alerts from './alerts.ts'
import * as api from './api.ts'
import * as archive from './archive.ts'
import * as cli from './cli.ts'
import * as cold from './cold.ts'
import * as dispatch from './dispatch.ts'
import * as dispatchLatency from './dispatch-latency.ts'
import * as endpointScale from './endpoint-scale.ts'
import * as enqueue from './enqueue.ts'
import * as failover from './failover.ts'
import type { Figure } from './figure.ts'
import * as firstDispatch from './first-dispatch.ts'
import * as items from './items.ts'
import * as history from './history.ts'
import * as fleet from './fleet.ts'
import * as fleetBusy from './fleet-busy.ts'
import * as localMemory from './local-memory.ts'
import * as localStart from './local-start.ts'
import * as localThroughput from './local-throughput.ts'
import * as logFleet from './log-fleet.ts'
import * as logOpen from './log-open.ts'
import * as logParse from './log-parse.ts'
import * as logSearch from './log-search.ts'
import * as logTail from './log-tail.ts'
import * as makespan from './makespan.ts'
import * as pgBloat from './pg-bloat.ts'
import * as pgDispatch from './pg-dispatch.ts'
import * as pgEnqueue from './pg-enqueue.ts'
import * as pgLatency from './pg-latency.ts'
import * as recover from './recover.ts'
import * as schedules from './schedules.ts'

/** Runs the benches at a tiny size, only to check that they work. Real figures need a quiet machine. */
const SHORT: [name: string, measure: () => Promise<Figure[]>, figures: string[]][] = [
  [
    'alerts',
    () =>
      all(
        alerts.measure({
          rules: 50,
          factsPerMinute: 60_000,
          spiders: 20,
          breaching: 0.1,
          warmMs: 200,
          measureMs: 1_000
        })
      ),
    ['core_share', 'told_p50_ms', 'told_p99_ms']
  ],
  [
    'api',
    () => api.measure({ finished: 1, rounds: 1, durationMs: 100 }),
    ['daemonstatus_ratio', 'listspiders_ratio', 'mixed_ratio', 'schedule_ratio']
  ],
  ['cli', () => cli.measure({ rounds: 1 }), ['ratio', 'ours_ms', 'bound_ms']],
  ['cold', () => cold.measure({ rounds: 1 }), ['ratio', 'ours_ms', 'bound_ms']],
  [
    'dispatch',
    () =>
      all(
        dispatch.measure({
          sizes: [{ nodes: 3, slots: 2, queued: 6, lanes: 4 }],
          lives: { nodes: 3, slots: 2, queued: 9, lanes: 4, jobMs: [100, 300] }
        })
      ),
    ['ratio', 'cpu_us_per_job', 'whole_jobs_per_s', 'whole_cpu_us_per_job']
  ],
  [
    'dispatch-latency',
    () => dispatchLatency.measure({ nodes: 3, slots: 2, queued: 200, lanes: 4, jobMs: [200, 600], measureMs: 3_000 }),
    ['p50_ms', 'p99_ms']
  ],
  [
    'makespan',
    () => makespan.measure({ slots: [1, 2], jobs: 6, shortMs: 100, longMs: 300, longEvery: 3, pollMs: 100 }),
    ['ratio']
  ],
  [
    'fleet',
    () => all(fleet.measure({ sizes: [3], measureMs: 300, settleMs: 500 })),
    ['at_3_ratio', 'rss_mb', 'loop_p99_ms']
  ],
  ['fleet-busy', () => fleetBusy.measure({ nodes: 3, measureMs: 3_000, longestRunMs: 6_000 }), ['seen_p99_s', 'ratio']],
  ['local-memory', () => localMemory.measure({ spiders: 1, rounds: 1 }), ['private_ratio', 'proportional_ratio']],
  ['first-dispatch', () => firstDispatch.measure({ jobs: 3 }), ['p95_ratio', 'post_p50_ms']],
  [
    'local-start',
    () => localStart.measure({ ours: 1, fastPoll: 1, byDefault: 1 }),
    ['p50_ratio', 'opened_p95_ms', 'ratio_default', 'ratio_fast_poll']
  ],
  [
    'enqueue',
    () => all(enqueue.measure({ queued: [10], calls: 2, inFlight: 2, jobsPerCall: 10 })),
    ['contract_at_10_ratio', 'http_at_10_ratio', 'cpu_us_per_job']
  ],
  ['history', () => all(history.measure({ sizes: [10], rounds: 1 })), ['page_at_10_ratio', 'facets_p95_ms']],
  [
    'log-parse',
    () => logParse.measure({ bytes: 1_000_000, rounds: 1 }),
    ['ratio_logparser', 'mb_per_s', 'logparser_mb_per_s']
  ],
  [
    'log-fleet',
    () => logFleet.measure({ nodes: 2, slots: 2, settleMs: 100, lookMs: 3_000, measureMs: 1_000 }),
    ['whole_core_share', 'base_core_share', 'age_p99_s']
  ],
  [
    'log-open',
    () => logOpen.measure({ megabytes: 10, rounds: 1 }),
    ['first_screen_ms', 'index_ratio', 'literal_ratio', 'regex_ratio']
  ],
  ['log-tail', () => logTail.measure({ floodSeconds: 1, lines: 2 }), ['mb_per_s', 'line_ms']],
  [
    'log-search',
    () => logSearch.measure({ gigabytes: 0.02, logs: 50 }),
    ['first_hit_ms', 'common_scan_gb_per_s', 'ingest_mb_per_s', 'index_size_share']
  ],
  ['archive', () => archive.measure({ megabytes: 10, rounds: 1 }), ['size_ratio', 'write_mb_per_s', 'range_ms']],
  [
    'items',
    () => all(items.measure({ bytes: 100_000, rounds: 1 })),
    ['first_page_ms', 'field_stats_s', 'field_stats_ratio']
  ],
  ['recover', () => all(recover.measure({ sizes: [{ queued: 10, live: 2 }], rounds: 1 })), ['ready_s']],
  [
    'local-throughput',
    () => localThroughput.measure({ jobs: 2, fastPollJobs: 1, defaultJobs: 1, rounds: 1 }),
    ['ratio', 'ratio_default', 'ratio_fast_poll']
  ],
  [
    'pg-bloat',
    () => pgBloat.measure({ live: 100, lives: [500, 1_000], claims: 500 }),
    ['size_ratio', 'snapshot_ratio', 'claims_per_s']
  ],
  [
    'pg-dispatch',
    () => pgDispatch.measure({ nodes: 3, slots: 2, queued: 200, lanes: 4 }),
    ['jobs_per_s', 'ratio_bound', 'cpu_us_per_job']
  ],
  [
    'pg-latency',
    () => pgLatency.measure({ nodes: 3, slots: 2, queued: 200, lanes: 4, jobMs: [200, 600], measureMs: 3_000 }),
    ['p50_ms', 'p99_ms']
  ],
  ['pg-enqueue', () => pgEnqueue.measure({ calls: 2, inFlight: 2, jobsPerCall: 100 }), ['jobs_per_s', 'loop_p99_ms']],
  [
    'failover',
    () => failover.measure({ rounds: 1, settleMs: 3_500 }),
    ['killed_next_dispatch_ms', 'stalled_next_dispatch_ms', 'cut_off_next_firing_ms']
  ],
  [
    'endpoint-scale',
    () =>
      endpointScale.measure({
        rounds: 1,
        durationMs: 1_000,
        settleMs: 0,
        queued: 10,
        names: ['alone', 'two', 'two_cached']
      }),
    ['engines_ratio', 'cache_ratio', 'alone_per_s', 'two_per_s', 'two_cached_per_s', 'two_cached_p99_ms']
  ],
  [
    'schedules',
    () => all(schedules.measure({ schedules: 20, atOnce: 10, rounds: 1, idleMs: 200 })),
    [
      ...['firing_p50_ms', 'firing_p99_ratio', 'next10_p99_ms', 'idle_core_share'],
      ...['calendar_week_ms', 'load_day_ms', 'list_page_ms', 'views_loop_p99_ms']
    ]
  ]
]

const NEED_POSTGRES = ['pg-dispatch', 'pg-enqueue', 'pg-latency', 'pg-bloat']
const isThere = (name: string) =>
  name === 'endpoint-scale'
    ? endpointScale.whyNot() === null
    : !NEED_POSTGRES.includes(name) || whyNoPostgres() === null

/** Benches that run only in `npm run test:long`, because they start Scrapyds, services or browsers. */
const ONLY_LONG = [
  'api',
  'cold',
  'endpoint-scale',
  'failover',
  'local-memory',
  'local-throughput',
  'log-open',
  'log-tail',
  'pg-bloat'
]

async function all(figures: AsyncIterable<Figure>): Promise<Figure[]> {
  const list: Figure[] = []
  for await (const figure of figures) list.push(figure)
  return list
}

test
  .runIf(process.platform === 'linux')
  .each(SHORT.filter(([name]) => isThere(name) && (isLong || !ONLY_LONG.includes(name))))(
  '%s measures both sides and reports the figures it promises',
  { timeout: 180_000 },
  async (_name, measure, figures) => {
    const measured = new Map((await measure()).map(({ figure, value }) => [figure, value]))
    for (const figure of figures) expect(measured.get(figure), figure).toBeGreaterThan(0)
  }
)
