export type AlertSubject = 'spider' | 'job' | 'error' | 'schedule' | 'node' | 'service'

/**
 * `yes_no`: the watch is a condition, and the rule sets how long it must be met. Otherwise, the unit of the watched
 * figure.
 */
export type AlertUnit = 'yes_no' | 'runs' | 'items' | 'errors' | 'jobs' | 'percent' | 'hours' | 'days'

interface Watch {
  of: AlertSubject
  unit: AlertUnit
  /** The directions in which the figure can be bad, with the usual direction first. */
  compares: readonly ('at_least' | 'at_most')[]
  /** Follows "Notify when", such as "a spider fails". */
  label: string
  /** Initial values of a new rule, which then needs only a scope and a channel. */
  usual: { threshold: number; forSeconds: number; severity: 'info' | 'warning' | 'critical' }
  /** What to do about the alert, with the names of buttons in the app; null: each alert's text says what to do. */
  mend: string | null
}

const HOUR = 3_600
const YES = { unit: 'yes_no', compares: ['at_least'] } as const

export const ALERT_WATCHES = {
  spider_fails: {
    of: 'spider',
    unit: 'runs',
    compares: ['at_least'],
    label: 'the runs of a spider fail or are lost',
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' },
    mend: 'Open the job: the end of its log usually says why it failed. When the cause is fixed, use Retry there.'
  },
  spider_items: {
    of: 'spider',
    unit: 'items',
    compares: ['at_most', 'at_least'],
    label: 'a run has too few or too many items',
    usual: { threshold: 0, forSeconds: 0, severity: 'warning' },
    mend: 'Open the job and compare its items with those of an earlier run. If the number is right, use Edit rule to change the threshold.'
  },
  spider_errors: {
    of: 'spider',
    unit: 'errors',
    compares: ['at_least'],
    label: 'a run logs errors',
    usual: { threshold: 100, forSeconds: 0, severity: 'warning' },
    mend: 'Open the job: its Stats tab lists the errors that it logged. If so many are normal, use Edit rule to raise the threshold.'
  },
  spider_unusual: {
    of: 'spider',
    ...YES,
    label: 'a run succeeds but is unusual for its spider',
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' },
    mend: 'Open the job: its Stats tab compares it with earlier runs. If this is how it should be, use Dismiss on the overview.'
  },
  spider_overdue: {
    of: 'spider',
    unit: 'hours',
    compares: ['at_least'],
    label: 'a spider has not succeeded for too long',
    usual: { threshold: 26, forSeconds: 0, severity: 'warning' },
    mend: 'Check whether the last jobs of the spider failed, and whether its schedule is paused. Use Run now on the schedule to run it at once.'
  },
  job_runs_long: {
    of: 'job',
    ...YES,
    label: 'a job runs too long',
    usual: { threshold: 1, forSeconds: 6 * HOUR, severity: 'warning' },
    mend: 'Open the job: if nothing new appears in its log, use Cancel, then Retry. If such runs are normal, use Edit rule to allow more time.'
  },
  job_waits_long: {
    of: 'job',
    ...YES,
    label: 'a job waits too long',
    usual: { threshold: 1, forSeconds: HOUR, severity: 'warning' },
    mend: 'Open the job: it says what it waits for. Add or activate a node that can run it, or use To front to run it before others.'
  },
  error_appears: {
    of: 'error',
    unit: 'runs',
    compares: ['at_least'],
    label: 'a new error appears, or a resolved one reappears',
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' },
    mend: 'Open the error: it has an example and the jobs that logged it. Use Resolve when it is fixed, or Ignore if it does not matter.'
  },
  schedule_misses: {
    of: 'schedule',
    ...YES,
    label: 'a schedule misses a run, fails or pauses itself',
    usual: { threshold: 1, forSeconds: 0, severity: 'warning' },
    mend: 'Open the schedule: it says what went wrong. Use Resume if it is paused, and Catch up for the runs that it missed.'
  },
  node_down: {
    of: 'node',
    ...YES,
    label: 'a node does not respond',
    usual: { threshold: 1, forSeconds: 120, severity: 'critical' },
    mend: 'Check that the node runs and that this machine can reach it. Cordon it while you work on it: then its alerts are not sent.'
  },
  node_stuck: {
    of: 'node',
    ...YES,
    label: 'a node accepts jobs but starts none',
    usual: { threshold: 1, forSeconds: 0, severity: 'critical' },
    mend: 'Restart Scrapyd on the node. Until it starts jobs again, it only gets a test job from time to time.'
  },
  queue_length: {
    of: 'service',
    unit: 'jobs',
    compares: ['at_least'],
    label: 'too many jobs are waiting',
    usual: { threshold: 1_000, forSeconds: HOUR, severity: 'warning' },
    mend: 'Open the queue to see what the jobs wait for. Add nodes or slots, or pause schedules that queue more than the fleet can run.'
  },
  disk_free: {
    of: 'service',
    unit: 'percent',
    compares: ['at_most'],
    label: 'the service’s disk is filling up',
    usual: { threshold: 10, forSeconds: 60, severity: 'critical' },
    mend: 'Shorten the retention under Settings, so that old logs and items are deleted, or free space on the disk.'
  },
  certificate_days: {
    of: 'service',
    unit: 'days',
    compares: ['at_most'],
    label: 'the service’s certificate expires soon',
    usual: { threshold: 14, forSeconds: 0, severity: 'critical' },
    mend: 'Renew the certificate and replace its files. Scrapdeck uses the new one within ten seconds, without a restart.'
  },
  service_problem: {
    of: 'service',
    ...YES,
    label: 'the service itself has a problem',
    usual: { threshold: 1, forSeconds: 60, severity: 'critical' },
    mend: null
  }
} as const satisfies Record<string, Watch>

export type AlertWatch = keyof typeof ALERT_WATCHES
export const ALERT_WATCH_NAMES = Object.keys(ALERT_WATCHES) as AlertWatch[]

export const mendOf = (watch: AlertWatch): string | null => ALERT_WATCHES[watch].mend

export const subjectOf = (watch: AlertWatch): AlertSubject => ALERT_WATCHES[watch].of

export const isBreach = (
  { comparison, threshold }: { comparison: 'at_least' | 'at_most'; threshold: number },
  value: number
): boolean => (comparison === 'at_least' ? value >= threshold : value <= threshold)

export type ScopeField = 'project' | 'spider' | 'scheduleId' | 'nodeId' | 'nodeTag'

const OF_RUNS = ['project', 'spider', 'nodeId', 'nodeTag'] as const
const OF_NODES = ['nodeId', 'nodeTag'] as const

/** The labels that a rule can name. A rule with a label that its watch does not set would never fire. */
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

export const ALERT_SEVERITIES = ['info', 'warning', 'critical'] as const
export const rankOf = (severity: (typeof ALERT_SEVERITIES)[number]): number => ALERT_SEVERITIES.indexOf(severity)

export const needsSomebody = (alert: { state: string; acknowledged: unknown; muted: unknown }): boolean =>
  alert.state === 'firing' && alert.acknowledged === null && alert.muted === null
