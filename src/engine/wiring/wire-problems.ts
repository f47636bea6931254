import type { ChangeFeed } from '../events/change-feed.ts'
import { Alerts } from '../plugins/alerts.ts'
import { ProblemWatch, type ProblemWatchParts } from '../health/problem-watch.ts'
import type {
  ChainStore,
  ChangeLog,
  FiringReader,
  JobReader,
  LaneReader,
  ScheduleReader,
  ToldProblemStore
} from '../store/store.ts'

/** What is wrong, for those who look at it (problems) and, where a plugin is an alert channel, for those who are told. */
export function wireProblems(
  parts: Omit<ProblemWatchParts, 'store' | 'onChange'> & {
    store: JobReader & LaneReader & FiringReader & ScheduleReader & ChainStore & ChangeLog & ToldProblemStore
    feed: () => ChangeFeed
    wantsAlerts: boolean
    /** Events are in the outbox. */
    onEvents: () => void
  }
): { problems: ProblemWatch; alerts: Alerts | null } {
  const problems = new ProblemWatch({
    ...parts,
    onChange() {
      parts.feed().touch('problems')
      alerts?.note()
    }
  })
  const alerts = parts.wantsAlerts ? new Alerts({ ...parts, problems: () => problems.current() }) : null
  return { problems, alerts }
}
