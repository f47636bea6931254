import type { AlertNews, AlertReport, AlertView, ProjectName } from '../../../../shared/contract/index.ts'
import { messageOf } from '../../../../shared/texts/message.ts'
import { titleOf, worstOf } from './words.ts'

type ChannelProjects = { projects?: readonly ProjectName[] | undefined }

const isForAll = ({ projects }: ChannelProjects): boolean => projects === undefined || projects.length === 0

/** Whether a channel can receive alerts of this project. null: alerts without a project. This whole file is pure. */
export const mayTell = (channel: ChannelProjects, project: ProjectName | null): boolean =>
  isForAll(channel) || (project !== null && channel.projects!.includes(project))

/** The part of a recorded message that a channel can receive now. null: none. A test has no project. */
export function newsFor(channel: ChannelProjects, news: AlertNews): AlertNews | null {
  const isAllowed = ({ labels }: AlertView) => mayTell(channel, labels.project)
  const areAllAllowed = news.kind === 'test' || [...news.firing, ...news.resolved].every(isAllowed)
  return areAllAllowed ? news : seenNews(news, isAllowed)
}

export function isReportFor(channel: ChannelProjects, report: AlertReport): boolean {
  const { failing, unusual, slowest, newErrors, service } = report
  const named = [...failing, ...unusual, ...slowest, ...newErrors.groups]
  return isForAll(channel) || (service === null && named.every(({ project }) => mayTell(channel, project)))
}

/** Omits the number of alerts beyond the listed ones, because their projects are not recorded. */
export function seenNews(news: AlertNews, isSeen: (alert: AlertView) => boolean): AlertNews | null {
  const [firing, resolved] = [news.firing.filter(isSeen), news.resolved.filter(isSeen)]
  if (firing.length + resolved.length === 0) return null
  const shown = firing.length > 0 ? firing : resolved
  return {
    ...news,
    ...titleOf(shown.length, messageOf(shown[0]!)),
    severity: worstOf(shown),
    firing,
    resolved,
    moreFiring: 0,
    moreResolved: 0
  }
}
