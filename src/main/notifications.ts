import { Notification } from 'electron'
import type { AlertNotice, Contract } from '../shared/contract/index.ts'
import type { ContractRouterClient } from '@orpc/contract'
import { viewOfAlerts } from './app-url.ts'
import { noticesToShow } from '../shared/notices-to-show.ts'
import { texts } from '../shared/texts/ui/desktop.ts'

export interface NotifyingEngine {
  /** null for the engine of this app. */
  id: string | null
  name: string
  isReadOnly: boolean
  client: Pick<ContractRouterClient<Contract>, 'alerts' | 'jobs'>
}

export interface Notifications {
  /** Shows a message of the app itself. */
  say(title: string, body: string): void
  show(engine: NotifyingEngine, notices: readonly AlertNotice[]): void
  close(): void
}

/**
 * The maximum number of notifications to keep references to. Clicks work only on these, and the system keeps
 * notifications for a long time.
 */
const KEPT_MAX = 100

/** Shows alerts as system notifications. A click opens the alert. Buttons acknowledge it or retry its runs. */
export function createNotifications(open: (view: string) => void): Notifications {
  const kept = new Map<string, Notification>()

  function keep(key: string, notification: Notification): void {
    kept.get(key)?.close()
    kept.delete(key)
    kept.set(key, notification)
    const [oldest] = kept
    if (kept.size <= KEPT_MAX || oldest === undefined) return
    oldest[1].close()
    kept.delete(oldest[0])
  }

  function showOne(engine: NotifyingEngine, notice: Omit<AlertNotice, 'id' | 'atMs'>): void {
    const { groupId, severity, body, alertIds } = notice
    const actions = engine.isReadOnly ? [] : actionsOf(engine.client, notice)
    const notification = new Notification({
      title: plain(engine.id === null ? notice.title : texts.ofEngine(engine.name, notice.title)),
      body: plain(body),
      urgency: severity === 'critical' ? 'critical' : 'normal',
      silent: severity === null,
      actions: actions.map(({ text }) => ({ type: 'button', text }))
    })
    notification.on('click', () => open(viewOfAlerts(engine.id, alertIds[0])))
    notification.on('action', ({ actionIndex }) => {
      actions[actionIndex]?.run().catch((error: Error) =>
        showOne(engine, {
          ...notice,
          severity: null,
          retryJobIds: [],
          title: actions[actionIndex]!.failure,
          body: error.message
        })
      )
    })
    keep(`${engine.id} ${groupId}`, notification)
    notification.show()
  }

  return {
    say(title, body) {
      const notification = new Notification({ title, body: plain(body) })
      keep(title, notification)
      notification.show()
    },
    show: (engine, notices) => noticesToShow(notices).forEach((notice) => showOne(engine, notice)),
    close() {
      for (const notification of kept.values()) notification.close()
      kept.clear()
    }
  }
}

function actionsOf(
  client: NotifyingEngine['client'],
  { alertIds, retryJobIds }: Pick<AlertNotice, 'alertIds' | 'retryJobIds'>
) {
  const acknowledge = {
    text: texts.acknowledge,
    failure: texts.couldNotAcknowledge,
    run: () => client.alerts.acknowledge({ ids: alertIds }) as Promise<unknown>
  }
  const retry = {
    text: texts.retryRuns(retryJobIds.length),
    failure: texts.retryFailed(retryJobIds.length),
    run: () => client.jobs.retry({ ids: retryJobIds }) as Promise<unknown>
  }
  return [...(alertIds.length > 0 ? [acknowledge] : []), ...(retryJobIds.length > 0 ? [retry] : [])]
}

/** Linux renders markup, links and entities in a notification. Text from spiders and nodes must not use them. */
const plain = (text: string): string =>
  text
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/&(?=#?\w+;)/g, '＆')
