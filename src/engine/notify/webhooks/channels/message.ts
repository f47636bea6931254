import type {
  AlertId,
  AlertNews,
  AlertReport,
  AlertRuleId,
  AlertTarget,
  AlertTargetKind
} from '../../../../shared/contract/index.ts'
import type { StoredWebhook } from '../../../model/records.ts'
import type { SendResult } from '../plan-try.ts'

/** What a sender of one kind gets. */
export interface Message<Kind extends AlertTargetKind = AlertTargetKind> {
  target: Extract<AlertTarget, { kind: Kind }>
  channel: StoredWebhook
  /** The same for each try. */
  id: string
  /** As it was recorded, but for what has ended while it waited. */
  body: string
  madeAtMs: number
  /** Of a report: the same in a few words. */
  news: AlertNews
  /** None: the message is about alerts. */
  report?: AlertReport | null
  /** Empty: it has none. */
  secret: string
  /** Records what was said, without secrets. */
  say: (line: string) => void
}

export type Sender<Kind extends AlertTargetKind> = (message: Message<Kind>) => Promise<SendResult>

/** Of a recorded message. Throws for anything else. */
export function newsIn(body: string): AlertNews {
  const { data } = JSON.parse(body) as { data?: AlertNews }
  if (data === undefined || !Array.isArray(data.firing) || !Array.isArray(data.resolved)) {
    throw new Error('This message is not about alerts')
  }
  return data
}

/** For trying a channel. */
export function exampleNews(nowMs: number): AlertNews {
  const id = 'test'.padEnd(32, '0')
  const text = 'This is a test message of Scrapdeck. Nothing is wrong.'
  return {
    ...{ kind: 'test', ruleId: id as AlertRuleId, ruleName: 'Test of a channel', owner: '', severity: 'info' },
    ...{ title: text, groupId: id, resolved: [], moreFiring: 0, moreResolved: 0, stillFiring: 0 },
    firing: [
      {
        ...{ id: id as AlertId, severity: 'info', watch: 'service_problem', subject: 'Scrapdeck', text, value: 1 },
        labels: {
          ...{ project: null, spider: null, jobId: null, scheduleId: null, errorGroupId: null, nodeId: null },
          nodeTags: []
        },
        ...{ firedAtMs: nowMs, resolvedAtMs: null }
      }
    ]
  }
}
