import type { AlertNews, AlertReport, AlertView, ProjectName } from '../../../../shared/contract/index.ts'
import { titleOf, worstOf } from './words.ts'

type ChannelProjects = { projects?: readonly ProjectName[] | undefined }

const isForAll = ({ projects }: ChannelProjects): boolean => projects === undefined || projects.length === 0

/** Whether a channel may be told of what is of this project, or of none. Pure, as everything here. */
export const mayTell = (channel: ChannelProjects, project: ProjectName | null): boolean =>
  isForAll(channel) || (project !== null && channel.projects!.includes(project))

/** What of a recorded message a channel may be told now; null: nothing. A test is about no project. */
export function newsFor(channel: ChannelProjects, news: AlertNews): AlertNews | null {
  const isAllowed = ({ labels }: AlertView) => mayTell(channel, labels.project)
  const areAllAllowed = news.kind === 'test' || [...news.firing, ...news.resolved].every(isAllowed)
  return areAllAllowed ? news : seenNews(news, isAllowed)
}

/** Whether a recorded report has nothing that a channel may not be told now. */
export function isReportFor(channel: ChannelProjects, report: AlertReport): boolean {
  const { failing, unusual, slowest, newErrors, service } = report
  const named = [...failing, ...unusual, ...slowest, ...newErrors.groups]
  return isForAll(channel) || (service === null && named.every(({ project }) => mayTell(channel, project)))
}

/** Whose those beyond the listed ones are is not recorded: how many there are is not told either. */
export function seenNews(news: AlertNews, isSeen: (alert: AlertView) => boolean): AlertNews | null {
  const [firing, resolved] = [news.firing.filter(isSeen), news.resolved.filter(isSeen)]
  if (firing.length + resolved.length === 0) return null
  const shown = firing.length > 0 ? firing : resolved
  return {
    ...{ ...news, title: titleOf(shown), severity: worstOf(shown) },
    ...{ firing, resolved, moreFiring: 0, moreResolved: 0 }
  }
}
