import type { SeenJob } from '../../node-client.ts'
import type { Run } from './run-list.ts'
import type { RunWatch } from './run-watch.ts'

/** A run as Scrapyd would list it, plus how it ended. */
export function toSeenJob(run: Run, watch: Pick<RunWatch, 'endOf'>): SeenJob {
  return {
    project: run.spec.project,
    spider: run.spec.spider,
    jobid: run.spec.jobid,
    pid: run.child?.pid ?? null,
    ...timesOf(run),
    exit: run.exit && {
      code: run.exit.code,
      signal: run.exit.signal,
      finishReason: run.exit.finishReason,
      ...watch.endOf(run)
    }
  }
}

type Times = Pick<SeenJob, 'startTime' | 'endTime'>
/** Each snapshot has up to a thousand ended runs. Formatting their times every time took 9 ms. */
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

/** `2026-11-21 01:02:03.004000`: the format of Scrapyd's times. */
function naiveLocalTime(atMs: number): string {
  const time = new Date(atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  const ofDay = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())].join(':')
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`
}
