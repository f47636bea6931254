import { needsSomebody } from '../../../shared/alert-watches.ts'
import { Button, Flex } from '@mantine/core'
import { IconCheck, IconArrowsLeftRight, IconBellOff, IconUserCheck } from '@tabler/icons-react'
import type { Alert } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { SEVERITY_LOOK, SeverityIcon, SeverityText } from '../../ui/severity.tsx'
import type { Column } from '../../ui/table/column.ts'
import { RelativeTime, formatInstant } from '../../ui/time.tsx'
import classes from './alerts.module.css'
import { FLAPPING_TEXT, MUTED } from './alert-words.ts'
import { texts as words } from '../../../shared/texts/ui/alerts.ts'

export function AlertState({ alert }: { alert: Alert }) {
  if (alert.state !== 'resolved') return <SeverityText severity={alert.severity} />
  return (
    <span className="inline dim" title={words.endedAs(SEVERITY_LOOK[alert.severity].word)}>
      <IconCheck size={14} stroke={2.2} aria-hidden />
      {words.ended}
    </span>
  )
}

/** How long an alert lasted. null: it is still firing. */
export const lastedMs = ({ sinceMs, firedAtMs, resolvedAtMs }: Alert): number | null =>
  resolvedAtMs === null ? null : resolvedAtMs - Math.min(sinceMs, firedAtMs ?? sinceMs)

export const alertColumns = (onAcknowledge: ((alert: Alert) => void) | null): readonly Column<Alert>[] => [
  {
    id: 'state',
    header: words.severity,
    width: '98px',
    hideBelowPx: 420,
    cell: (alert) => (
      <span className={classes.state}>
        <AlertState alert={alert} />
      </span>
    )
  },
  {
    id: 'alert',
    header: words.alert,
    width: 'minmax(150px, 3fr)',
    cell: (alert) => (
      <span
        className={`${classes.alert} lines`}
        data-ended={alert.state === 'resolved' || undefined}
        title={alert.text}
      >
        <strong className="ellipsis semibold">
          <span className={classes.narrow}>
            {alert.state === 'resolved' ? (
              <IconCheck size={13} role="img" aria-label={words.ended} />
            ) : (
              <SeverityIcon severity={alert.severity} size={13} />
            )}
          </span>
          {alert.subject}
        </strong>
        <span className="ellipsis dim">{alert.text}</span>
      </span>
    )
  },
  {
    id: 'marks',
    header: words.notes,
    width: 'minmax(122px, 0.9fr)',
    hideBelowPx: 600,
    cell: (alert) => <AlertMarks alert={alert} />
  },
  {
    id: 'rule',
    header: words.rule,
    width: 'minmax(110px, 1.4fr)',
    hideBelowPx: 900,
    cell: ({ ruleName, owner }) => (
      <span className={`${classes.alert} lines`} title={ruleName}>
        <span className="ellipsis">{ruleName}</span>
        {owner !== '' && <span className="ellipsis faint">{owner}</span>}
      </span>
    )
  },
  {
    id: 'since',
    header: words.since,
    width: '104px',
    align: 'end',
    cell: (alert) => {
      const lasted = lastedMs(alert)
      return (
        <span className={`${classes.since} lines`}>
          {lasted === null ? (
            <RelativeTime atMs={alert.sinceMs} />
          ) : (
            <>
              <span className="dim">{words.lasted(formatAge(lasted))}</span>
              <span className="faint">
                <RelativeTime atMs={alert.resolvedAtMs} ago />
              </span>
            </>
          )}
        </span>
      )
    }
  },
  ...(onAcknowledge === null
    ? []
    : [
        {
          id: 'act',
          header: <span className="visually-hidden">{words.act}</span>,
          width: '144px',
          align: 'end' as const,
          // A narrow table needs the space for the text, and the open pane also has the button.
          hideBelowPx: 800,
          cell: (alert: Alert) =>
            needsSomebody(alert) && (
              <Button
                size="compact-xs"
                tabIndex={-1}
                aria-label={words.acknowledgeAlert(alert.subject)}
                title={words.acknowledgeHint}
                onClick={(event) => {
                  event.stopPropagation()
                  onAcknowledge(alert)
                }}
              >
                {words.acknowledge}
              </Button>
            )
        }
      ])
]

function AlertMarks({ alert: { acknowledged, muted, isFlapping } }: { alert: Alert }) {
  return (
    <Flex component="span" gap="2px 10px" wrap="wrap" lh={1.35}>
      {acknowledged !== null && (
        <Flex
          component="span"
          display="inline-flex"
          align="center"
          gap={4}
          className="dim"
          title={words.acknowledgedByOn(acknowledged.by, formatInstant(acknowledged.atMs))}
        >
          <IconUserCheck size={13} aria-hidden />
          <span className="visually-hidden">{words.acknowledgedBy}</span>
          {acknowledged.by}
        </Flex>
      )}
      {muted !== null && (
        <Flex component="span" display="inline-flex" align="center" gap={4} className="dim" title={MUTED[muted].text}>
          <IconBellOff size={13} aria-hidden />
          {MUTED[muted].word}
        </Flex>
      )}
      {isFlapping && (
        <Flex component="span" display="inline-flex" align="center" gap={4} className="dim" title={FLAPPING_TEXT}>
          <IconArrowsLeftRight size={13} aria-hidden />
          {words.flapping}
        </Flex>
      )}
    </Flex>
  )
}
