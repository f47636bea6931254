import { IconBug } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ErrorGroup } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useNow } from '../../ui/clock.ts'
import { formatCount } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './latest-failures.module.css'

const DAY_MS = 86_400_000
const SHOWN = 4
/** Last seen first: what is new is among them, unless more than so many were logged meanwhile. */
const LOOKED_AT = 100

/** Open errors of spiders that were not there a day ago, or are back: each points to a recent change. */
export function NewErrors() {
  const { query } = useApi()
  const { data } = useQuery(query.errors.list.queryOptions({ input: { state: 'open', limit: LOOKED_AT } }))
  const sinceMs = useNow() - DAY_MS
  const groups = data?.groups ?? []
  const isReopened = ({ reopenedAtMs }: ErrorGroup) => reopenedAtMs !== null && reopenedAtMs >= sinceMs
  const news = groups.filter((group) => isReopened(group) || group.firstSeenMs >= sinceMs)
  if (news.length === 0) return null
  const reopened = news.filter(isReopened).length
  const count = (number: number, word: string) => (number === 0 ? [] : [`${formatCount(number)} ${word}`])
  const words = [...count(news.length - reopened, 'new'), ...count(reopened, 'reopened')].join(', ')
  const hasMore = news.length === LOOKED_AT
  return (
    <Panel
      title={`Errors in the last 24 hours: ${hasMore ? 'at least ' : ''}${words}`}
      flush
      aside={
        <Link to="/errors" className={classes.all}>
          all
        </Link>
      }
    >
      <ul>
        {news.slice(0, SHOWN).map((group) => (
          <li key={group.id} className={classes.failure}>
            <IconBug size={14} className="tone-bad" aria-hidden />
            <Link to="/errors" search={{ group: group.id }} className={`ellipsis ${classes.name}`}>
              <span className="dim">{group.project}/</span>
              {group.spiders.join(', ')}
            </Link>
            <span className="ellipsis mono dim" title={group.title}>
              {group.title}
            </span>
            <span className={`faint ${classes.node}`}>{isReopened(group) ? 'reopened' : 'new'}</span>
            <span className={`faint ${classes.age}`}>
              <RelativeTime atMs={group.lastSeenMs} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
