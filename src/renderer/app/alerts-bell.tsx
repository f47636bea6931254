import { needsSomebody } from '../../shared/alert-watches.ts'
import { ActionIcon, Button, Flex, Popover } from '@mantine/core'
import { IconBell } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../api/api.tsx'
import { useSeesNodesOnly } from '../api/use-me.ts'
import { useHasOperation } from '../state/remote-engines.ts'
import { SEVERITY_LOOK, SeverityIcon, worstOf } from '../ui/severity.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { notificationPermission } from './alert-notices.tsx'
import classes from './alerts-bell.module.css'
import { texts } from '../../shared/texts/ui/app.ts'

const ASKED_MAX = 100
const LISTED_MAX = 8

export function AlertsBell() {
  const has = useHasOperation()
  const seesNodesOnly = useSeesNodesOnly()
  return has('alerts.list') && !seesNodesOnly ? <Bell /> : null
}

function Bell() {
  const { query } = useApi()
  const { data } = useQuery(query.alerts.list.queryOptions({ input: { state: 'firing', limit: ASKED_MAX } }))
  const [isOpened, setOpened] = useState(false)
  const [permission, setPermission] = useState(notificationPermission)
  const open = (data?.alerts ?? []).filter(needsSomebody)
  const others = (data?.alerts.length ?? 0) - open.length
  const worst = worstOf(open)
  const count = open.length >= ASKED_MAX ? `${ASKED_MAX}+` : String(open.length)
  const label =
    worst === null ? texts.noAlertsToAcknowledge : texts.alertsToAcknowledge(count, SEVERITY_LOOK[worst].word)
  const close = () => setOpened(false)
  return (
    <Popover opened={isOpened} onChange={setOpened} position="bottom-end" shadow="md" width={380} trapFocus>
      <Popover.Target>
        <ActionIcon
          className={`${classes.bell} fixed`}
          aria-label={label}
          title={label}
          aria-expanded={isOpened}
          onClick={() => setOpened(!isOpened)}
        >
          <IconBell size={17} stroke={1.6} />
          {worst !== null && (
            <span className={`${classes.count} tone-${SEVERITY_LOOK[worst].tone}`} aria-hidden>
              {count}
            </span>
          )}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={classes.list}>
        {open.length === 0 ? (
          <p className={`${classes.none} dim`}>{texts.noOpenAlerts}</p>
        ) : (
          <ul>
            {open.slice(0, LISTED_MAX).map((alert) => (
              <li key={alert.id}>
                <Link to="/alerts" search={{ alert: alert.id }} onClick={close}>
                  <SeverityIcon severity={alert.severity} />{' '}
                  <span className="lines grow break">
                    <strong className="ellipsis semibold">{alert.subject}</strong>{' '}
                    <span className="dim">{alert.text}</span>
                  </span>{' '}
                  <span className="faint">
                    <RelativeTime atMs={alert.sinceMs} />
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )}
        {permission === 'default' && window.scrapdeck === undefined && (
          <p className={classes.ask}>
            <Button onClick={() => void Notification.requestPermission().then(setPermission)}>
              {texts.allowNotifications}
            </Button>
          </p>
        )}
        <Flex component="footer" gap={12} justify="space-between" className={classes.foot}>
          <span className="faint">
            {open.length > LISTED_MAX && texts.moreAlerts(open.length - LISTED_MAX)}
            {others > 0 && texts.otherAlerts(others)}
          </span>
          <Link to="/alerts" onClick={close}>
            {texts.allAlerts}
          </Link>
        </Flex>
      </Popover.Dropdown>
    </Popover>
  )
}
