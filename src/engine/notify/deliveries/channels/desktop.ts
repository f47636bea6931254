import type { AlertNews, AlertNotice, AlertView } from '../../../../shared/contract/index.ts'
import { textOf } from '../../../../shared/texts/message.ts'
import { subjectOf as kindOfSubject } from '../../../../shared/alert-watches.ts'
import type { StoredDelivery } from '../../../model/records.ts'
import { newsIn } from './message.ts'
import { seenNews } from './seen-news.ts'
import { moodOf, oneLine, subjectOf } from './words.ts'

/** The maximum length of a title. Operating systems cut off longer ones. */
const TITLE_MAX = 100
const LINE_MAX = 200
const LINES_MAX = 4

/**
 * Turns a message into a notification for a user who sees only alerts that pass `isShown`. null: the user sees none.
 */
export function noticeOf(
  { id, body, madeAtMs }: Pick<StoredDelivery, 'id' | 'body' | 'madeAtMs'>,
  isShown: (of: { project: string | null }) => boolean
): AlertNotice | null {
  const all = newsIn(body)
  const news = isShown({ project: null }) ? all : seenNews(all, ({ labels }) => isShown(labels))
  if (news === null) return null
  const { firing, resolved, moreFiring, moreResolved, groupId } = news
  const mood = moodOf(news)
  const isFiring = firing.length > 0
  const count = isFiring ? firing.length + moreFiring : resolved.length + moreResolved
  const what =
    count === 1 ? subjectOf((firing[0] ?? resolved[0])!, TITLE_MAX) : textOf('mail.alerts', { alerts: count })
  return {
    id,
    atMs: madeAtMs,
    groupId,
    severity: isFiring && news.kind !== 'test' ? news.severity : null,
    title: oneLine(textOf('mail.headline', { mood, title: what }), TITLE_MAX),
    body: linesOf(news, count).join('\n'),
    alertIds: news.kind === 'test' ? [] : firing.map((alert) => alert.id),
    retryJobIds: [...new Set(firing.flatMap((alert) => endedRunOf(alert) ?? []))]
  }
}

function linesOf({ kind, firing, resolved, moreResolved }: AlertNews, count: number): string[] {
  const isFiring = firing.length > 0
  const listed = (isFiring ? firing : resolved).slice(0, LINES_MAX)
  const over = resolved.length + moreResolved
  return [
    ...listed.map((alert) => oneLine(alert.text, LINE_MAX) || subjectOf(alert, LINE_MAX)),
    ...(count > listed.length ? [textOf('mail.and_more', { alerts: count - listed.length })] : []),
    ...(isFiring && over > 0 ? [textOf('mail.count_resolved', { alerts: over })] : []),
    ...(kind === 'repeat' ? [textOf('mail.reminder')] : [])
  ]
}

/** The ended run that an alert is about. Only alerts about a spider have one. Runs of other alerts can be live. */
const endedRunOf = ({ watch, labels }: AlertView) => (kindOfSubject(watch) === 'spider' ? labels.jobId : null)
