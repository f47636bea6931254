import { Badge } from '@mantine/core'
import type { ErrorGroup } from '../../../shared/contract/index.ts'
import { Sparkline } from '../../ui/charts/sparkline.tsx'
import { ErrorStateText } from '../../ui/errors/error-group.tsx'
import { formatCount, plural } from '../../ui/numbers.ts'
import type { Column } from '../../ui/table/column.ts'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './error-columns.module.css'

/** The columns of the errors table; `showsState`: the list has errors of several states. */
export const errorColumns = (showsState: boolean): Column<ErrorGroup>[] => [
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(150px, 3fr)',
    cell: (group) => (
      <span className={classes.error} title={`${group.title}\n${group.culprit}`}>
        <strong className="ellipsis">{group.title}</strong>
        <span className="ellipsis faint mono">{group.culprit}</span>
      </span>
    )
  },
  ...(showsState
    ? [
        {
          id: 'state',
          header: 'State',
          width: '96px',
          hideBelowPx: 560,
          cell: (group: ErrorGroup) => <ErrorStateText group={group} />
        }
      ]
    : []),
  {
    id: 'where',
    header: 'Project / spiders',
    width: 'minmax(96px, 1.2fr)',
    hideBelowPx: 520,
    sortBy: ({ project }) => project,
    cell: (group) => (
      <span className={classes.error} title={spidersOf(group)}>
        <span className="ellipsis">{group.project}</span>
        <span className="ellipsis dim">{spidersOf(group)}</span>
      </span>
    )
  },
  {
    id: 'version',
    header: 'New in',
    width: '150px',
    hideBelowPx: 820,
    cell: (group) => (
      <span className={classes.error} title={`First logged by version ${group.firstVersion || 'unknown'}`}>
        <span className="ellipsis">{group.firstVersion || '–'}</span>
        {group.versionCount > 1 && <span className="faint">{plural(group.versionCount, 'version')}</span>}
      </span>
    )
  },
  {
    id: 'series',
    header: '7 days',
    width: '104px',
    hideBelowPx: 680,
    cell: (group) => <Sparkline values={group.series.counts} tone="bad" width={88} height={26} />
  },
  {
    id: 'jobs',
    header: 'Jobs',
    width: '60px',
    align: 'end',
    hideBelowPx: 460,
    sortBy: ({ jobCount }) => jobCount,
    cell: ({ jobCount }) => formatCount(jobCount)
  },
  {
    id: 'count',
    header: 'Count',
    width: '68px',
    align: 'end',
    sortBy: ({ count }) => count,
    cell: ({ count }) => formatCount(count)
  },
  {
    id: 'first',
    header: 'First seen',
    width: '86px',
    align: 'end',
    hideBelowPx: 960,
    sortBy: ({ firstSeenMs }) => firstSeenMs,
    cell: ({ firstSeenMs }) => (
      <span className="dim">
        <RelativeTime atMs={firstSeenMs} />
      </span>
    )
  },
  {
    id: 'last',
    header: 'Last seen',
    width: '86px',
    align: 'end',
    sortBy: ({ lastSeenMs }) => lastSeenMs,
    cell: (group) => (
      <span className={classes.last}>
        <RelativeTime atMs={group.lastSeenMs} />
        {group.reopenedAtMs !== null && (
          <Badge size="xs" color="red" variant="light" title="Resolved, then logged again">
            reopened
          </Badge>
        )}
      </span>
    )
  }
]

/** `listing, offers and 4 more` */
function spidersOf({ spiders, spiderCount }: ErrorGroup): string {
  const shown = spiders.slice(0, 2).join(', ')
  return spiderCount > 2 ? `${shown} and ${spiderCount - 2} more` : shown
}
