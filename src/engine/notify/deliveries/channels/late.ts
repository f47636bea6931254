import type { AlertId, AlertNews } from '../../../../shared/contract/index.ts'
import { messageOf } from '../../../../shared/texts/message.ts'
import { titleOf, worstOf } from './words.ts'

/** When each of these alerts ended. Omits those that are still firing. */
export type ReadEnds = (ids: AlertId[]) => Promise<ReadonlyMap<AlertId, number>>

/** Resolves the alerts in a delayed message that have ended, because their end may already have been reported. Pure. */
export function asOfNow(news: AlertNews, ends: ReadonlyMap<AlertId, number>): AlertNews {
  const firing = news.firing.filter(({ id }) => !ends.has(id))
  if (firing.length === news.firing.length) return news
  const over = news.firing.flatMap((alert) => {
    const resolvedAtMs = ends.get(alert.id)
    return resolvedAtMs === undefined ? [] : [{ ...alert, resolvedAtMs }]
  })
  const resolved = [...over, ...news.resolved]
  const shown = firing.length > 0 ? firing : resolved
  // The message does not say which alerts beyond the listed ones have ended.
  const title = news.moreFiring > 0 ? {} : titleOf(shown.length, messageOf(shown[0]!))
  const kind = firing.length > 0 ? news.kind : 'news'
  return { ...news, kind, ...title, severity: worstOf(shown), firing, resolved }
}
