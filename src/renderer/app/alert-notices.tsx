import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { AlertNotice } from '../../shared/contract/index.ts'
import { noticesToShow } from '../../shared/notices-to-show.ts'
import { useApi } from '../api/api.tsx'
import { useHasOperation } from '../state/remote-engines.ts'
import { notifyLink } from '../ui/notify.tsx'
import { texts } from '../../shared/texts/ui/app.ts'

/** Shows messages sent to desktop channels while the page is open in a browser. The desktop app shows them itself. */
export function AlertNotices() {
  const has = useHasOperation()
  return has('alerts.notices') && window.scrapdeck === undefined ? <Shown /> : null
}

function Shown() {
  const { query } = useApi()
  const navigate = useNavigate()
  const [after, setAfter] = useState<string>()
  const { data } = useQuery(query.alerts.notices.queryOptions({ input: { after } }))
  useEffect(() => {
    if (data === undefined || data.after === after) return
    setAfter(data.after)
    for (const notice of noticesToShow(data.notices)) {
      show(notice, () => void navigate({ to: '/alerts', search: { alert: notice.alertIds[0] } }))
    }
  }, [data, after, navigate])
  return null
}

type ToShow = Pick<AlertNotice, 'title' | 'body' | 'groupId' | 'severity'>

/** Uses a browser notification if the page is hidden and notifications are allowed; otherwise, a notice in the page. */
function show({ title, body, groupId, severity }: ToShow, open: () => void): void {
  if (document.visibilityState === 'visible' || notificationPermission() !== 'granted') {
    return notifyLink(`${title}. ${body.replaceAll('\n', ' · ')}`, texts.openNotice, open)
  }
  const notification = new Notification(title, { body, tag: groupId, silent: severity === null })
  notification.onclick = () => {
    window.focus()
    notification.close()
    open()
  }
}

/** The current permission. Browsers refuse notifications over plain HTTP, except on localhost. */
export const notificationPermission = (): NotificationPermission =>
  window.isSecureContext && 'Notification' in window ? Notification.permission : 'denied'
