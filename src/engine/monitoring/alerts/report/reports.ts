import pLimit from 'p-limit'
import type { AlertReport, Figures, ProjectName, SpiderFindings } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/notify.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskState } from '../../../maintenance/retention/disk.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { AlertStore, ErrorStore, JobReader, JobRetentionStore } from '../../../storage/store.ts'
import { DAY_MS } from '../past/events-of-others.ts'
import { readErrors, readJobs } from '../past/read-past.ts'
import { digestOf } from './digest.ts'

export interface ReportsParts {
  store: JobReader & ErrorStore & Pick<AlertStore, 'sumAlerts'> & Pick<JobRetentionStore, 'storageSums'>
  clock: Clock
  nodes: () => readonly FleetNode[]
  findings: () => readonly SpiderFindings[]
  figures: () => Figures
  disk: () => DiskState | null
}

const WAITING_AT_MOST = 10

export class Reports {
  readonly #parts: ReportsParts
  readonly #oneAtATime = pLimit(1)

  constructor(parts: ReportsParts) {
    this.#parts = parts
  }

  /** `seen`: the projects to include. null: all. */
  async report(days: number, seen: ReadonlySet<ProjectName> | null): Promise<AlertReport> {
    if (this.#oneAtATime.pendingCount >= WAITING_AT_MOST)
      throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('notify.reports_being_made'))
    return this.#oneAtATime(() => this.#make(days, seen))
  }

  async #make(days: number, seen: ReadonlySet<ProjectName> | null): Promise<AlertReport> {
    const { store, clock, findings } = this.#parts
    const untilMs = clock.nowMs()
    const fromMs = untilMs - days * DAY_MS
    const only = seen === null ? {} : { onlyProjects: [...seen] }
    // Reads one more day, because a job that ended today may have waited since yesterday.
    const jobs = await readJobs(store, only, { sinceMs: fromMs - DAY_MS, wantedMs: fromMs })
    const errors = await readErrors(store, only, fromMs)
    const [ended, endedWithBefore] = await Promise.all([
      store.countEndedSince(fromMs, only),
      store.countEndedSince(fromMs - days * DAY_MS, only)
    ])
    return digestOf({
      fromMs,
      untilMs,
      ended,
      endedWithBefore,
      jobs: jobs.rows,
      errors: errors.rows,
      findings: findings().filter(({ project }) => seen === null || seen.has(project)),
      service: seen === null ? await this.#readService(fromMs) : null,
      isComplete: jobs.isComplete && errors.isComplete
    })
  }

  async #readService(fromMs: number) {
    const { store, nodes, figures, disk } = this.#parts
    const [sums, fired] = await Promise.all([store.storageSums(), store.sumAlerts(fromMs)])
    const alertsFired = fired.reduce((count, rule) => count + rule.fired, 0)
    return { alertsFired, nodes: nodes(), queued: figures().queued, sums, disk: disk() }
  }
}
