/** What an alert is about: decides which labels it has, and what inhibits it. */
export type AlertSubject = 'spider' | 'job' | 'error' | 'schedule' | 'node' | 'service'

/** `yes_no`: a fact is so or not, and the rule says for how long. Otherwise the figure's unit. */
export type AlertUnit = 'yes_no' | 'runs' | 'items' | 'errors' | 'jobs' | 'percent' | 'hours' | 'days'

interface Watch {
  of: AlertSubject
  unit: AlertUnit
  /** Which way is bad, the usual one first. */
  compares: readonly ('at_least' | 'at_most')[]
  /** What is watched, after "Tell when": a spider fails. */
  label: string
  /** What a new rule begins with; a template that needs no more than a scope and a channel. */
  usual: { threshold: number; forSeconds: number; severity: 'info' | 'warning' | 'critical' }
}

const HOUR = 3_600
const YES = { unit: 'yes_no', compares: ['at_least'] } as const

/** All that a rule can watch. Each is a template too: one click from the thing that it watches. */
export const ALERT_WATCHES = {
  spider_fails: {
    ...{ of: 'spider', unit: 'runs', compares: ['at_least'], label: 'the runs of a spider fail or are lost' },
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' }
  },
  spider_items: {
    ...{ of: 'spider', unit: 'items', compares: ['at_most', 'at_least'], label: 'a run has too few or too many items' },
    usual: { threshold: 0, forSeconds: 0, severity: 'warning' }
  },
  spider_errors: {
    ...{ of: 'spider', unit: 'errors', compares: ['at_least'], label: 'a run logs errors' },
    usual: { threshold: 100, forSeconds: 0, severity: 'warning' }
  },
  spider_unusual: {
    ...{ of: 'spider', ...YES, label: 'a run succeeds, but unlike the earlier ones of its spider' },
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' }
  },
  spider_overdue: {
    ...{ of: 'spider', unit: 'hours', compares: ['at_least'], label: 'a spider has not succeeded for too long' },
    usual: { threshold: 26, forSeconds: 0, severity: 'warning' }
  },
  job_runs_long: {
    ...{ of: 'job', ...YES, label: 'a job runs too long' },
    usual: { threshold: 1, forSeconds: 6 * HOUR, severity: 'warning' }
  },
  job_waits_long: {
    ...{ of: 'job', ...YES, label: 'a job waits too long' },
    usual: { threshold: 1, forSeconds: HOUR, severity: 'warning' }
  },
  error_appears: {
    ...{ of: 'error', unit: 'runs', compares: ['at_least'], label: 'a new error appears, or a resolved one again' },
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' }
  },
  schedule_misses: {
    ...{ of: 'schedule', ...YES, label: 'a schedule misses its time, fails or pauses itself' },
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' }
  },
  node_down: {
    ...{ of: 'node', ...YES, label: 'a node does not respond' },
    usual: { threshold: 1, forSeconds: 120, severity: 'critical' }
  },
  node_stuck: {
    ...{ of: 'node', ...YES, label: 'a node accepts jobs but starts none' },
    usual: { threshold: 1, forSeconds: 0, severity: 'critical' }
  },
  queue_length: {
    ...{ of: 'service', unit: 'jobs', compares: ['at_least'], label: 'too many jobs wait' },
    usual: { threshold: 1_000, forSeconds: HOUR, severity: 'warning' }
  },
  disk_free: {
    ...{ of: 'service', unit: 'percent', compares: ['at_most'], label: 'the disk of the service fills' },
    usual: { threshold: 10, forSeconds: 60, severity: 'critical' }
  },
  certificate_days: {
    ...{ of: 'service', unit: 'days', compares: ['at_most'], label: 'the certificate of the service expires soon' },
    usual: { threshold: 14, forSeconds: 0, severity: 'critical' }
  },
  service_problem: {
    ...{ of: 'service', ...YES, label: 'the service itself has a problem' },
    usual: { threshold: 1, forSeconds: 60, severity: 'critical' }
  }
} as const satisfies Record<string, Watch>

export type AlertWatch = keyof typeof ALERT_WATCHES
export const ALERT_WATCH_NAMES = Object.keys(ALERT_WATCHES) as AlertWatch[]

export const subjectOf = (watch: AlertWatch): AlertSubject => ALERT_WATCHES[watch].of

/** Whether this value is one that the rule is about. */
export const isBreach = (
  { comparison, threshold }: { comparison: 'at_least' | 'at_most'; threshold: number },
  value: number
): boolean => (comparison === 'at_least' ? value >= threshold : value <= threshold)

export type ScopeField = 'project' | 'spider' | 'scheduleId' | 'nodeId' | 'nodeTag'

const OF_RUNS = ['project', 'spider', 'nodeId', 'nodeTag'] as const
const OF_NODES = ['nodeId', 'nodeTag'] as const

/** What a rule can name: only what the facts of its watch have. A rule that names anything else would never fire. */
export const SCOPE_OF: Record<AlertWatch, readonly ScopeField[]> = {
  spider_fails: OF_RUNS,
  spider_items: OF_RUNS,
  spider_errors: OF_RUNS,
  spider_unusual: ['project', 'spider'],
  spider_overdue: ['project', 'spider'],
  job_runs_long: OF_RUNS,
  job_waits_long: OF_RUNS,
  error_appears: ['project'],
  schedule_misses: ['project', 'scheduleId'],
  node_down: OF_NODES,
  node_stuck: OF_NODES,
  queue_length: [],
  disk_free: [],
  certificate_days: [],
  service_problem: []
}
