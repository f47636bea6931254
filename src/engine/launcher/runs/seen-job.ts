import type { SeenJob } from '../../nodes/node-client.ts'
import type { Run } from './run-list.ts'
import type { RunWatch } from './run-watch.ts'

/** A run as a Scrapyd would list it, and how it ended besides. */
export function toSeenJob(run: Run, watch: Pick<RunWatch, 'endOf'>): SeenJob {
  return {
    project: run.spec.project,
    spider: run.spec.spider,
    jobid: run.spec.jobid,
    pid: run.child?.pid ?? null,
    ...timesOf(run),
    exit: run.exit && { code: run.exit.code, signal: run.exit.signal, ...watch.endOf(run) }
  }
}

type Times = Pick<SeenJob, 'startTime' | 'endTime'>
/** Up to a thousand ended runs are in each snapshot: formatting their times again took 9 ms each time. */
const timesOfEnded = new WeakMap<Run, Times>()

function timesOf(run: Run): Times {
  const kept = timesOfEnded.get(run)
  if (kept !== undefined) return kept
  const times = {
    startTime: run.startedAtMs === null ? null : naiveLocalTime(run.startedAtMs),
    endTime: run.exit === null ? null : naiveLocalTime(run.exit.atMs)
  }
  if (run.exit !== null) timesOfEnded.set(run, times)
  return times
}

/** `2026-11-21 01:02:03.004000`: what Scrapyd's times look like. */
function naiveLocalTime(atMs: number): string {
  const time = new Date(atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  const ofDay = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())].join(':')
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`
}
